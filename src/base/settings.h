/*
 * base/settings.h
 *		The server settings (GUCs) stream_engine.*, all from one table.
 */
#ifndef SE_SETTINGS_H
#define SE_SETTINGS_H

/* A row above this many kilobytes is refused at INSERT. */
extern int	se_max_row_size;

/* A unit may commit inside a transaction of more rows than this (I1). */
extern int	se_max_transaction_rows;

/* A stopped job gives its WAL up after this many megabytes; -1 = never (I3). */
extern int	se_max_retained_wal;

/* What one job may hold in memory, kilobytes: the default of the view's option. */
extern int	se_state_memory;

/* Default of the view's option checkpoint_interval, milliseconds. */
extern int	se_checkpoint_interval;

/* Least distance of tick marks in a database whose jobs need them, milliseconds. */
extern int	se_tick_interval;

/* Rows of a batch; smaller only to test that it does not matter (I4). */
extern int	se_batch_rows;

/* Jobs the shared memory has room for (postmaster). */
extern int	se_max_jobs;

/* Longest wait on a latch, ms. Nothing may depend on it: tests set an hour. */
extern int	se_fallback_timeout;

/* Restart back-off, ms: first delay, doubled up to the last. */
extern int	se_restart_delay_min;
extern int	se_restart_delay_max;

/* Defines every GUC and reserves the prefix. Runs in: _PG_init. */
extern void se_settings_init(void);

#endif							/* SE_SETTINGS_H */
