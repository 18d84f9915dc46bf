/*
 * base/se.h
 *		Names and small types every file of stream_engine may use.
 *
 * Include after postgres.h.
 */
#ifndef SE_H
#define SE_H

#include "fmgr.h"

/* A point in event or processing time: microseconds since 2000-01-01, PostgreSQL's own clock. */
typedef int64 SeTime;

/* No watermark yet; and the watermark of an ended input ('infinity'). */
#define SE_TIME_MIN		PG_INT64_MIN
#define SE_TIME_MAX		PG_INT64_MAX

#define SE_EXPORT __attribute__((visibility("default")))

/* Above a case: the one before goes on into it. */
#define SE_FALLTHROUGH __attribute__((fallthrough))

/* Behind a prototype: it does not return (PostgreSQL's own macro for this changed in 18). */
#define SE_NORETURN __attribute__((noreturn))

/*
 * A function callable from SQL.  The library hides all symbols by default
 * (PostgreSQL loads libraries RTLD_GLOBAL), so the two symbols fmgr looks for
 * are declared visible first.
 */
#define SE_FUNCTION_INFO_V1(name) \
	extern SE_EXPORT Datum name(PG_FUNCTION_ARGS); \
	extern SE_EXPORT const Pg_finfo_record *CppConcat(pg_finfo_, name)(void); \
	const Pg_finfo_record * \
	CppConcat(pg_finfo_, name)(void) \
	{ \
		static const Pg_finfo_record my_finfo = {1}; \
		return &my_finfo; \
	} \
	extern int no_such_variable

/* The schema of our catalog tables and control functions. */
#define SE_SCHEMA "stream_engine"

#endif							/* SE_H */
