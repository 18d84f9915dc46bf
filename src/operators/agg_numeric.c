/*
 * operators/agg_numeric.c
 *		Numerics as 128-bit whole numbers of 10^-8, as long as they fit.
 *
 * Reads the stored form of a numeric, which is fixed by what is on disks everywhere: a
 * 2-byte header with sign, display scale and, in the short form, the weight; in the
 * long form the weight follows; then digits of base 10000, the first one worth
 * 10000^weight.
 */
#include "postgres.h"

#include "base/compat.h"
#include "operators/agg_numeric.h"
#include "utils/builtins.h"

/* The two bits at the top of the header. */
#define FORM_MASK		0xC000
#define FORM_NEGATIVE	0x4000	/* long */
#define FORM_SHORT		0x8000
#define FORM_SPECIAL	0xC000

#define BASE 10000
#define FRACTION_DIGITS 8		/* two digits of the base */
#define MOST_WEIGHT 4			/* five digits of the base before the point */
#define LEAST_WEIGHT (-2)

bool
se_numeric_to_units(Datum value, int128 *units, int *scale)
{
	const struct varlena *stored = (const struct varlena *) DatumGetPointer(value);
	const char *bytes;
	int			len;
	uint16		header;
	int			weight;
	int			ndigits;
	bool		negative;
	int128		sum = 0;

	/* Compressed and external ones are rare enough. */
	if (VARATT_IS_EXTENDED(stored) && !VARATT_IS_SHORT(stored))
		return false;
	bytes = VARDATA_ANY(stored);
	len = VARSIZE_ANY_EXHDR(stored);
	if (len < (int) sizeof(header))
		return false;
	memcpy(&header, bytes, sizeof(header));
	bytes += sizeof(header);
	len -= sizeof(header);

	if ((header & FORM_MASK) == FORM_SPECIAL)
		return false;
	if ((header & FORM_MASK) == FORM_SHORT)
	{
		negative = (header & 0x2000) != 0;
		*scale = (header & 0x1F80) >> 7;
		weight = (header & 0x003F) - (header & 0x0040);
	}
	else
	{
		int16		stored_weight;

		if (len < (int) sizeof(stored_weight))
			return false;
		negative = (header & FORM_MASK) == FORM_NEGATIVE;
		*scale = header & 0x3FFF;
		memcpy(&stored_weight, bytes, sizeof(stored_weight));
		weight = stored_weight;
		bytes += sizeof(stored_weight);
		len -= sizeof(stored_weight);
	}
	ndigits = len / (int) sizeof(int16);
	if (*scale > SE_NUMERIC_MAX_SCALE ||
		(ndigits > 0 && (weight > MOST_WEIGHT || weight - ndigits + 1 < LEAST_WEIGHT)))
		return false;

	for (int i = 0; i < ndigits; i++)
	{
		int16		digit;

		memcpy(&digit, bytes + i * sizeof(digit), sizeof(digit));
		sum = sum * BASE + digit;
	}
	for (int low = weight - ndigits + 1; ndigits > 0 && low > LEAST_WEIGHT; low--)
		sum *= BASE;
	*units = negative ? -sum : sum;
	return true;
}

/* By its text: it happens once per result, and the input function knows the scale. */
Numeric
se_numeric_from_units(int128 units, int scale)
{
	char text[	64 + SE_NUMERIC_MAX_SCALE];
	char		digits[64];
	int			n = 0;
	int			out = 0;
	bool		negative = units < 0;
	uint128		rest = negative ? -(uint128) units : (uint128) units;

	Assert(scale >= 0 && scale <= SE_NUMERIC_MAX_SCALE);
	while (rest > 0 || n <= FRACTION_DIGITS)
	{
		digits[n++] = '0' + (int) (rest % 10);
		rest /= 10;
	}
	if (negative)
		text[		out++] = '-';

	while (n > FRACTION_DIGITS)
		text[		out++] = digits[--n];

	if (scale > 0)
		text[		out++] = '.';

	/* A value has no digits behind its display scale. */
	for (int i = 0; i < scale; i++)
		text[		out++] = n > 0 ? digits[--n] : '0';
	text[		out] = '\0';

	return DatumGetNumeric(DirectFunctionCall3(numeric_in, CStringGetDatum(text),
											   ObjectIdGetDatum(InvalidOid), Int32GetDatum(-1)));
}
