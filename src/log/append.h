/*
 * log/append.h
 *		How a session writes rows and transactional marks into the log.
 *
 * A buffer belongs to one stream and one subtransaction; a full buffer (64 kB) becomes
 * one message, and what is left when the subtransaction ends. Ordinals are counted per
 * top transaction.
 * Runs in: sessions.
 */
#ifndef SE_APPEND_H
#define SE_APPEND_H

#include "base/se.h"
#include "executor/tuptable.h"
#include "log/message.h"
#include "utils/relcache.h"

typedef struct SeAppender SeAppender;

/* Open for one executor node; memory lives in `memory`, which outlives the node's use. */
extern SeAppender *se_append_open(MemoryContext memory, Relation stream);

/*
 * Pack one row. Everything that can be refused (size) is refused before anything
 * is written. The slot's values are only read. A `passed` row never moves the watermark.
 */
extern void se_append_row(SeAppender *appender, TupleTableSlot *slot, uint8 kind, bool passed);

/* The node has ended; what is buffered may stay so until the transaction ends. Safe to call twice. */
extern void se_append_close(SeAppender *appender);

/* emit_watermark: a transactional mark with an ordinal of its own. */
extern void se_append_watermark(Oid stream, SeTime watermark);

/* ALTER: a transactional mark of a job's, with an ordinal of its own (log/options_mark.h). */
extern void se_append_options(Oid job, const char *body, Size len);

/* Ordinal the next row or mark of this transaction gets (start marks need it). */
extern uint64 se_append_next_ordinal(void);

/*
 * Bring layouts again with the next rows: whoever begins to read here (a start mark) has
 * not seen those that were sent before.
 */
extern void se_append_forget_layouts(void);

/* Did this transaction take rows or marks, written yet or not? */
extern bool se_append_in_use(void);

/* Did it write rows of this stream? A rolled back subtransaction's may count. */
extern bool se_append_has_rows(Oid stream);

/* Registers transaction callbacks. Runs in: _PG_init. */
extern void se_append_init(void);

/* Non-transactional mark; returns the end of its record, flushed if asked. */
extern XLogRecPtr se_mark_write(SeMarkKind mark, Oid relation, uint64 xid, uint64 ordinal,
								const void *body, Size len, bool flush, XLogRecPtr *start);

#endif							/* SE_APPEND_H */
