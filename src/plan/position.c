/*
 * plan/position.c
 *		Where in the query's text a refusal points.
 *
 * Expressions of an analysed query know their byte offset. Clauses and FROM items do
 * not: their place is found by scanning the text again for a word behind a keyword,
 * with the core scanner, so that strings and comments do not mislead. Such a place is
 * a courtesy: when the word is not found the error has no position.
 */
#include "postgres.h"

#include "base/compat.h"
#include "nodes/nodeFuncs.h"
#include "parser/parse_node.h"
#include "parser/parsetree.h"
#include "parser/scanner.h"
#include "plan/plan_internal.h"
#include "utils/lsyscache.h"

/* The scanner's code of an identifier: the first one Bison gives out. */
#define TOKEN_IDENT 258

/* No keywords: every word comes as an identifier, in lower case unless quoted. */
static const ScanKeywordList no_keywords = {"", NULL, NULL, 0, 0};

static int	find_word(const char *text, const char *keyword, const char *word);

/* An errposition for a byte offset of the query's text. For ereport's argument list. */
int
se_plan_position(SePlan *plan, int location)
{
	return parser_errposition(plan->pstate, location);
}

/* The same for an expression or clause node; none for a list without positions. */
int
se_plan_node_position(SePlan *plan, const void *node)
{
	return parser_errposition(plan->pstate, exprLocation((const Node *) node));
}

/* The same for the first `word` after `keyword`; word NULL: for the keyword itself. */
int
se_plan_word_position(SePlan *plan, const char *keyword, const char *word)
{
	if (plan->pstate->p_sourcetext == NULL)
		return 0;
	return parser_errposition(plan->pstate,
							  find_word(plan->pstate->p_sourcetext, keyword, word));
}

/* The same for an item of FROM, by the name it is written with. */
int
se_plan_rte_position(SePlan *plan, int rti)
{
	RangeTblEntry *rte = rt_fetch(rti, plan->query->rtable);
	const char *word = rte->eref ? rte->eref->aliasname : NULL;

	if (rte->rtekind == RTE_RELATION)
		word = get_rel_name(rte->relid);
	else if (rte->rtekind == RTE_CTE)
		word = rte->ctename;
	if (word == NULL)
		return 0;
	return se_plan_word_position(plan, "from", word);
}

/*
 * The same for a GROUP BY key: where GROUP BY names it, if it is a column; from 18 on
 * such a key has no location of its own.
 */
int
se_plan_key_position(SePlan *plan, const void *key)
{
	const char *text = plan->pstate->p_sourcetext;
	int			location = -1;

	if (text !=NULL && IsA(key, Var))
		location = find_word(text, "group", se_expr_column_name(plan, key));
	if (location < 0)
		location = exprLocation(key);
	return parser_errposition(plan->pstate, location);
}

/* Byte offset of the first `word` after the first `keyword`, -1 if there is none. */
static int
find_word(const char *text, const char *keyword, const char *word)
{
	core_yy_extra_type extra;
	core_YYSTYPE value;
	YYLTYPE		location;
	core_yyscan_t scanner;
	bool		armed = false;
	int			found = -1;
	int			token;

	/* already parsed once, so the scanner has nothing new to complain about */
	scanner = scanner_init(text, &extra, &no_keywords, NULL);
	se_compat_quiet_scanner(&extra);
	while (found < 0 && (token = core_yylex(&value, &location, scanner)) != 0)
	{
		if (token != TOKEN_IDENT)
			continue;
		if (armed && strcmp(value.str, word) == 0)
			found = location;
		else if (!armed && strcmp(value.str, keyword) == 0)
		{
			armed = true;
			if (word == NULL)
				found = location;
		}
	}
	scanner_finish(scanner);
	return found;
}
