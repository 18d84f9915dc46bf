/*
 * source/watermark.c
 *		What a row says about event time: the stream's watermark expression, evaluated.
 *
 * The common watermark, a column minus a constant interval of fixed length, is a
 * subtraction here. Any other runs in the executor as the stream's owner, under the
 * stream's time zone.
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "base/compat.h"
#include "common/int.h"
#include "executor/executor.h"
#include "log/stream.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "source/watermark.h"
#include "utils/fmgroids.h"
#include "utils/guc.h"
#include "utils/rel.h"
#include "utils/timestamp.h"

typedef struct SeWatermarkExpr
{
	Oid			stream;
	SeStreamInfo *info;
	Expr	   *expr;
	MemoryContext memory;
	MemoryContext made_in;		/* what state is made of */
	ExprState  *state;
	ExprContext *econtext;
	TupleTableSlot *slot;		/* the stream's row */
	bool		pinned;			/* owner and settings are in force, until the poll ends */
	int			guc_level;
	Oid			saved_user;
	int			saved_context;
} SeWatermarkExpr;

static bool is_native(SeWatermark *watermark, Expr *expr);
static bool evaluate(SeWatermark *watermark, const Datum *values, const bool *nulls, SeTime *h);
static void make_state(SeWatermarkExpr *run);
static void pin(SeWatermarkExpr *run);

SeWatermark *
se_watermark_new(Relation stream)
{
	SeStreamInfo *info = se_stream_info(RelationGetRelid(stream));
	Expr	   *expr = se_stream_watermark_expr(stream, info);
	SeWatermark *watermark;
	SeWatermarkExpr *run;
	Bitmapset  *used = NULL;
	TupleDesc	desc;
	int			member = -1;

	if (expr == NULL)
		return NULL;
	watermark = palloc0(sizeof(SeWatermark));
	if (is_native(watermark, expr))
	{
		watermark->columns = list_make1_int(watermark->attno);
		return watermark;
	}

	run = watermark->expr = palloc0(sizeof(SeWatermarkExpr));
	run->stream = RelationGetRelid(stream);
	run->info = info;
	desc = CreateTupleDescCopy(RelationGetDescr(stream));
	pull_varattnos((Node *) expr, 1, &used);
	while ((member = bms_next_member(used, member)) >= 0)
	{
		AttrNumber	attno = member + FirstLowInvalidHeapAttributeNumber;

		if (attno > 0)
			watermark->columns = lappend_int(watermark->columns, attno);
		for (int i = 0; attno == 0 && i < desc->natts; i++)
			if (se_compat_attr_is_stored(TupleDescAttr(desc, i)))
				watermark->columns = lappend_int(watermark->columns, i + 1);
	}
	run->slot = MakeSingleTupleTableSlot(desc, &TTSOpsVirtual);
	run->econtext = CreateStandaloneExprContext();
	run->econtext->ecxt_scantuple = run->slot;
	run->expr = expr;
	run->memory = CurrentMemoryContext;
	make_state(run);
	return watermark;
}

static void
make_state(SeWatermarkExpr *run)
{
	MemoryContext old;

	run->made_in = AllocSetContextCreate(run->memory, "stream_engine watermark", ALLOCSET_SMALL_SIZES);
	old = MemoryContextSwitchTo(run->made_in);
	run->state = ExecInitExpr(run->expr, NULL);
	MemoryContextSwitchTo(old);
}

List *
se_watermark_columns(const SeWatermark *watermark)
{
	return watermark->columns;
}

void
se_watermark_bind(SeWatermark *watermark, const AttrNumber *wanted, int nwanted)
{
	watermark->wanted = wanted;
	watermark->nwanted = nwanted;
	for (int i = 0; watermark->native && i < nwanted; i++)
		if (wanted[i] == watermark->attno)
			watermark->column = i;
}

/*
 * Is the expression a column, or a column plus or minus a constant interval whose length
 * depends on no calendar? Then prepare to compute it without the executor.
 */
static bool
is_native(SeWatermark *watermark, Expr *expr)
{
	int64		sign = 0;
	bool		days = false;

	while (IsA(expr, RelabelType))
		expr = ((RelabelType *) expr)->arg;
	if (IsA(expr, OpExpr))
	{
		OpExpr	   *op = (OpExpr *) expr;
		Interval   *interval;
		Const	   *constant;

		switch (op->opfuncid)
		{
			case F_TIMESTAMP_MI_INTERVAL:
				days = true;
				SE_FALLTHROUGH;
			case F_TIMESTAMPTZ_MI_INTERVAL:
				sign = -1;
				break;
			case F_TIMESTAMP_PL_INTERVAL:
				days = true;
				SE_FALLTHROUGH;
			case F_TIMESTAMPTZ_PL_INTERVAL:
				sign = 1;
				break;
			default:
				return false;
		}
		constant = lsecond(op->args);
		expr = linitial(op->args);
		if (!IsA(constant, Const) || constant->constisnull)
			return false;
		interval = DatumGetIntervalP(constant->constvalue);
		if (interval->month != 0 || (interval->day != 0 && !days))
			return false;
		if (pg_mul_s64_overflow(interval->day, USECS_PER_DAY, &watermark->delta) ||
			pg_add_s64_overflow(watermark->delta, interval->time, &watermark->delta) ||
			pg_mul_s64_overflow(watermark->delta, sign, &watermark->delta))
			return false;
		while (IsA(expr, RelabelType))
			expr = ((RelabelType *) expr)->arg;
	}
	if (!IsA(expr, Var) || ((Var *) expr)->varattno <= 0)
		return false;
	watermark->native = true;
	watermark->attno = ((Var *) expr)->varattno;
	return true;
}

SeTime
se_watermark_execute(SeWatermark *watermark, const Datum *values, const bool *nulls)
{
	SeTime		h;

	if (!evaluate(watermark, values, nulls, &h) || TIMESTAMP_NOT_FINITE(h))
		return SE_TIME_MIN;		/* NULL and infinity assert nothing */
	return h;
}

/* Run the expression over the row; false if it is NULL. */
static bool
evaluate(SeWatermark *watermark, const Datum *values, const bool *nulls, SeTime *h)
{
	SeWatermarkExpr *run = watermark->expr;
	TupleTableSlot *slot = run->slot;
	Datum		result;
	bool		isnull;

	pin(run);
	ExecClearTuple(slot);
	memset(slot->tts_isnull, true, slot->tts_tupleDescriptor->natts);
	for (int i = 0; i < watermark->nwanted; i++)
	{
		if (watermark->wanted[i] <= 0)
			continue;
		slot->tts_values[watermark->wanted[i] - 1] = values[i];
		slot->tts_isnull[watermark->wanted[i] - 1] = nulls[i];
	}
	ExecStoreVirtualTuple(slot);
	ResetExprContext(run->econtext);
	result = ExecEvalExprSwitchContext(run->state, run->econtext, &isnull);
	if (!isnull)
		*h = DatumGetInt64(result);
	return !isnull;
}

static void
pin(SeWatermarkExpr *run)
{
	if (run->pinned)
		return;
	GetUserIdAndSecContext(&run->saved_user, &run->saved_context);
	SetUserIdAndSecContext(se_stream_info(run->stream)->owner,
						   run->saved_context | SECURITY_RESTRICTED_OPERATION);
	run->guc_level = se_stream_pin_settings(run->info, false);
	run->pinned = true;
}

void
se_watermark_unpin(SeWatermark *watermark)
{
	SeWatermarkExpr *run = watermark->expr;

	if (run == NULL || !run->pinned)
		return;
	AtEOXact_GUC(false, run->guc_level);
	SetUserIdAndSecContext(run->saved_user, run->saved_context);
	run->pinned = false;
}

void
se_watermark_recover(SeWatermark *watermark)
{
	SeWatermarkExpr *run = watermark->expr;

	run->pinned = false;
	MemoryContextDelete(run->made_in);
	make_state(run);
}
