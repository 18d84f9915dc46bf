/*
 * nexgen.c - small independent Nexmark event generator.
 *
 * Its output was compared byte for byte with the Java generator (nexmark/nexmark
 * 6b3646c with explicit seeds). It makes the input of tests, benchmarks and the demo.
 *
 *   cc -O2 -o nexgen nexgen.c -lm
 *   nexgen [-n events] [-r rate] [-g generators] [-i generator_index]
 *          [-f firstEventId] [-F firstEventNumber] [-o outOfOrderGroup]
 *          [-b base_ms] [-m stream|event|juc] [-s seedA,seedB,seedC]
 *          [-t tsv|copy] [-d dir] [-P person:auction:bid] [-c]
 *
 * modes (-m): event  = fresh SplittableRandom(eventId) per event (default; seekable)
 *             stream = one SplittableRandom(seedC) for the whole run (Flink master)
 *             juc    = fresh java.util.Random(eventId) per event, no channel/url and
 *                      bidder offset 1000 (Beam; Flink before 2021-05-31)
 * -t tsv  : one line an event, as in the comparison with Java
 * -t copy : three files DIR/person.copy, auction.copy, bid.copy in COPY text
 *           format, last column = seq (0-based arrival number)
 * -c      : classic bidder ids (offset 1000 instead of Flink's 2000)
 */
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* ---------- random number generators ------------------------------------ */

#define GAMMA UINT64_C(0x9e3779b97f4a7c15)

typedef struct
{
	bool		juc;			/* java.util.Random instead of SplittableRandom */
	uint64_t	s;
} Rng;

static void
rng_seed(Rng *r, bool juc, int64_t seed)
{
	r->juc = juc;
	r->s = juc ? (((uint64_t) seed ^ UINT64_C(0x5DEECE66D)) & ((UINT64_C(1) << 48) - 1))
		: (uint64_t) seed;
}

static int32_t
juc_bits(Rng *r, int bits)
{
	r->s = (r->s * UINT64_C(0x5DEECE66D) + 0xB) & ((UINT64_C(1) << 48) - 1);
	/* Java: (int)(seed >>> (48 - bits)) */
	return (int32_t) (uint32_t) (r->s >> (48 - bits));
}

static uint64_t
sr_long(Rng *r)
{
	uint64_t	z = (r->s += GAMMA);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

static int32_t
rng_int(Rng *r)					/* nextInt() */
{
	uint64_t	z;

	if (r->juc)
		return juc_bits(r, 32);
	z = (r->s += GAMMA);		/* mix32: other constants than mix64 */
	z = (z ^ (z >> 33)) * UINT64_C(0x62a9d9ed799705f5);
	z = (z ^ (z >> 28)) * UINT64_C(0xcb24d0a5c88c35b3);
	return (int32_t) (uint32_t) (z >> 32);
}

static int32_t
rng_below(Rng *r, int32_t bound)	/* nextInt(bound) */
{
	int32_t		v,
				m = bound - 1;

	if (r->juc)
	{
		int32_t		b = juc_bits(r, 31);

		if ((bound & m) == 0)
			return (int32_t) (((int64_t) bound * (int64_t) b) >> 31);
		while ((int32_t) ((uint32_t) b - (uint32_t) (v = b % bound) + (uint32_t) m) < 0)
			b = juc_bits(r, 31);
		return v;
	}
	v = rng_int(r);
	if ((bound & m) == 0)
		return v & m;
	for (uint32_t u = (uint32_t) v >> 1;
		 (int32_t) (u + (uint32_t) m - (uint32_t) (v = (int32_t) (u % (uint32_t) bound))) < 0;
		 u = (uint32_t) rng_int(r) >> 1)
		;
	return v;
}

static double
rng_double(Rng *r)				/* nextDouble() in [0,1) */
{
	if (r->juc)
	{
		int64_t		hi = (int64_t) (uint32_t) juc_bits(r, 26) << 27;
		int64_t		lo = (uint32_t) juc_bits(r, 27);

		return (double) (hi + lo) * 0x1.0p-53;
	}
	return (double) (sr_long(r) >> 11) * 0x1.0p-53;
}

static int64_t
rng_long_below(Rng *r, int64_t n)
{
	int64_t		l;

	if (n < INT32_MAX)
		return rng_below(r, (int32_t) n);
	if (r->juc)
		l = (int64_t) ((uint64_t) juc_bits(r, 32) << 32) + juc_bits(r, 32);
	else
		l = (int64_t) sr_long(r);
	l %= n;
	return l < 0 ? -l : l;
}

/* ---------- configuration ------------------------------------------------ */

static int64_t cfg_events = 100000;
static int64_t cfg_rate = 10000;
static int64_t cfg_gens = 1;
static int64_t cfg_gen_index = 0;
static int64_t cfg_first_id = 1;
static int64_t cfg_first_number = 1;
static int64_t cfg_ooo = 1;
static int64_t cfg_base = INT64_C(1500000000000);
static int	cfg_p = 1,
			cfg_a = 3,
			cfg_b = 46;
static int	cfg_avg_person = 200,
			cfg_avg_auction = 500,
			cfg_avg_bid = 100;
static int	cfg_hot_auction = 2,
			cfg_hot_seller = 4,
			cfg_hot_bidder = 4;
static int	cfg_in_flight = 100,
			cfg_active_people = 1000;
static int64_t cfg_bidder_base = 2000;
static double cfg_delay_us;
static int	cfg_total;

enum
{
	HOT = 100, LEAD = 10, FIRST = 1000, FIRST_CATEGORY = 10, CATEGORIES = 5,
	CHANNELS = 10000, POOL = 1024 * 1024
};

/* ---------- strings -------------------------------------------------------- */

static char pool[POOL];
static char hot_url[4][96];
static char (*channel_url)[96];
static const char *const hot_channel[4] = {"Google", "Facebook", "Baidu", "Apple"};

static void
fill_base26(Rng *r, char *out, int len)
{
	int32_t		rnd = 0;
	int			left = 0;

	for (int i = 0; i < len; i++)
	{
		if (left == 0)
		{
			rnd = rng_int(r);
			left = 6;
		}
		out[i] = (char) ('a' + rnd % 26);	/* C and Java: sign of the dividend */
		rnd /= 26;
		left--;
	}
}

/* returns the trimmed length; only leading/trailing blanks go */
static int
random_string(Rng *r, int max, char special, char *out)
{
	int			len = 3 + rng_below(r, max - 3);
	int			from = 0;

	for (int i = 0; i < len; i++)
		out[i] = rng_below(r, 13) == 0 ? special : (char) ('a' + rng_below(r, 26));
	while (len > from && out[len - 1] == ' ')
		len--;
	while (from < len && out[from] == ' ')
		from++;
	memmove(out, out + from, len - from);
	out[len - from] = 0;
	return len - from;
}

static void
extra_string(Rng *r, int used, int avg, char *out)
{
	int			delta,
				len;

	out[0] = 0;
	if (used > avg)
		return;
	avg -= used;
	delta = (int) floor(avg * 0.2 + 0.5);
	len = avg - delta + (delta == 0 ? 0 : rng_below(r, 2 * delta));
	if (r->juc)
		fill_base26(r, out, len);	/* Beam: drawn anew */
	else
		memcpy(out, pool + rng_below(r, POOL - len), len);
	out[len] = 0;
}

static void
base_url(Rng *r, char *out)
{
	char		a[8],
				b[8],
				c[8];

	random_string(r, 5, '_', a);
	random_string(r, 5, '_', b);
	random_string(r, 5, '_', c);
	sprintf(out, "https://www.nexmark.com/%s/%s/%s/item.htm?query=1", a, b, c);
}

static void
init_tables(int64_t seed_a, int64_t seed_b)
{
	Rng			r;

	rng_seed(&r, false, seed_a);
	fill_base26(&r, pool, POOL);
	rng_seed(&r, false, seed_b);
	for (int i = 0; i < 4; i++)
		base_url(&r, hot_url[i]);
	channel_url = malloc(sizeof(*channel_url) * CHANNELS);
	for (int i = 0; i < CHANNELS; i++)
	{
		base_url(&r, channel_url[i]);
		if (rng_below(&r, 10) > 0)
		{
			uint32_t	rev = 0;

			for (int k = 0; k < 32; k++)
				if ((uint32_t) i >> k & 1)
					rev |= UINT32_C(1) << (31 - k);
			sprintf(channel_url[i] + strlen(channel_url[i]), "&channel_id=%" PRId64,
					(int64_t) abs((int32_t) rev));
		}
	}
}

/* ---------- ids, times, prices --------------------------------------------- */

static int64_t
last_person(int64_t id)
{
	int64_t		off = id % cfg_total;

	return id / cfg_total * cfg_p + (off >= cfg_p ? cfg_p - 1 : off);
}

static int64_t
last_auction(int64_t id)
{
	int64_t		epoch = id / cfg_total,
				off = id % cfg_total;

	if (off < cfg_p)
		return (epoch - 1) * cfg_a + cfg_a - 1;
	if (off >= cfg_p + cfg_a)
		return epoch * cfg_a + cfg_a - 1;
	return epoch * cfg_a + off - cfg_p;
}

static int64_t
some_person(Rng *r, int64_t id)
{
	int64_t		people = last_person(id) + 1;
	int64_t		active = people < cfg_active_people ? people : cfg_active_people;

	return people - active + rng_long_below(r, active + LEAD);
}

static int64_t
some_auction(Rng *r, int64_t id)
{
	int64_t		max = last_auction(id);
	int64_t		min = max > cfg_in_flight ? max - cfg_in_flight : 0;

	return min + rng_long_below(r, max - min + 1 + LEAD);
}

static int64_t
price(Rng *r)
{
	return (int64_t) floor(pow(10.0, rng_double(r) * 6.0) * 100.0 + 0.5);
}

static int64_t
event_ms(int64_t number)
{
	/* truncate the product to whole microseconds first, then divide */
	return cfg_base + (int64_t) ((double) number * cfg_delay_us) / 1000;
}

static int64_t
adjusted(int64_t number)
{
	return number / cfg_ooo * cfg_ooo + number * 953 % cfg_ooo;
}

/* ---------- output --------------------------------------------------------- */

static FILE *out_p,
		   *out_a,
		   *out_b;
static bool copy_format;

static void
put_text(FILE *f, const char *s)
{
	for (; *s; s++)
	{
		if (copy_format && *s == '\\')
			putc('\\', f);
		putc(*s, f);
	}
}

static void
put_time(FILE *f, int64_t ms)
{
	time_t		t = (time_t) (ms / 1000);
	struct tm	tm;
	char		buf[32];

	if (!copy_format)
	{
		fprintf(f, "%" PRId64, ms);
		return;
	}
	gmtime_r(&t, &tm);
	strftime(buf, sizeof buf, "%Y-%m-%d %H:%M:%S", &tm);
	fprintf(f, "%s.%03d", buf, (int) (ms % 1000));
}

int
main(int argc, char **argv)
{
	static const char *const first[] = {"Peter", "Paul", "Luke", "John", "Saul", "Vicky", "Kate",
		"Julie", "Sarah", "Deiter", "Walter"};
	static const char *const last[] = {"Shultz", "Abrams", "Spencer", "White", "Bartels", "Walton",
		"Smith", "Jones", "Noris"};
	static const char *const city[] = {"Phoenix", "Los Angeles", "San Francisco", "Boise", "Portland",
		"Bend", "Redmond", "Seattle", "Kent", "Cheyenne"};
	static const char *const state[] = {"AZ", "CA", "ID", "OR", "WA", "WY"};
	bool		juc = false,
				per_event = true,
				classic = false;
	int64_t		seed_a = 1,
				seed_b = 2,
				seed_c = 3;
	const char *dir = ".";
	int64_t		first_id,
				events;
	Rng			r;
	int			c;

	while ((c = getopt(argc, argv, "n:r:g:i:f:F:o:b:m:s:t:d:P:c")) != -1)
		switch (c)
		{
			case 'n': cfg_events = atoll(optarg); break;
			case 'r': cfg_rate = atoll(optarg); break;
			case 'g': cfg_gens = atoll(optarg); break;
			case 'i': cfg_gen_index = atoll(optarg); break;
			case 'f': cfg_first_id = atoll(optarg); break;
			case 'F': cfg_first_number = atoll(optarg); break;
			case 'o': cfg_ooo = atoll(optarg); break;
			case 'b': cfg_base = atoll(optarg); break;
			case 'm': juc = !strcmp(optarg, "juc"); per_event = strcmp(optarg, "stream") != 0; break;
			case 's': sscanf(optarg, "%" SCNd64 ",%" SCNd64 ",%" SCNd64, &seed_a, &seed_b, &seed_c); break;
			case 't': copy_format = !strcmp(optarg, "copy"); break;
			case 'd': dir = optarg; break;
			case 'P': sscanf(optarg, "%d:%d:%d", &cfg_p, &cfg_a, &cfg_b); break;
			case 'c': classic = true; break;
			default:
				fprintf(stderr, "usage: nexgen [-n events] [-r rate/s] [-g generators -i index] [-f first id] [-F first number] [-o out-of-order group]\n"
						"              [-b base time ms] [-m event|stream|juc] [-s seedA,seedB,seedC] [-t copy -d DIR] [-P person:auction:bid] [-c classic]\n");
				return 2;
		}
	if (juc || classic)
		cfg_bidder_base = 1000;
	cfg_total = cfg_p + cfg_a + cfg_b;
	cfg_delay_us = 1000000.0 / (double) cfg_rate * (double) cfg_gens;

	/* split(n): equal id ranges, the last one takes the remainder; same first number */
	events = cfg_events / cfg_gens;
	first_id = cfg_first_id + cfg_gen_index * events;
	if (cfg_gens > 1 && cfg_gen_index == cfg_gens - 1)
		events = cfg_events - events * (cfg_gens - 1);

	if (!juc)
		init_tables(seed_a, seed_b);
	rng_seed(&r, juc, seed_c);

	if (copy_format)
	{
		char		path[4096];

		snprintf(path, sizeof path, "%s/person.copy", dir);
		out_p = fopen(path, "w");
		snprintf(path, sizeof path, "%s/auction.copy", dir);
		out_a = fopen(path, "w");
		snprintf(path, sizeof path, "%s/bid.copy", dir);
		out_b = fopen(path, "w");
		if (!out_p || !out_a || !out_b)
			return perror(dir), 1;
	}
	else
		out_p = out_a = out_b = stdout;

	for (int64_t k = 0; k < events; k++)
	{
		int64_t		number = cfg_first_number + k;
		int64_t		adj = adjusted(number);
		int64_t		id = first_id + adj;
		int64_t		ms = event_ms(adj);
		int64_t		wm = event_ms(number / cfg_ooo * cfg_ooo);
		int64_t		off = id % cfg_total;
		char		extra[2048];
		FILE	   *f;

		if (per_event)
			rng_seed(&r, juc, id);
		if (off < cfg_p)
		{
			char		e1[8],
						e2[8],
						name[32],
						card[24];
			const char *ci,
					   *st;
			int			n1,
						n2,
						n,
						cc[4];

			f = out_p;
			n1 = rng_below(&r, 11);
			n2 = rng_below(&r, 9);
			sprintf(name, "%s %s", first[n1], last[n2]);
			n = random_string(&r, 7, ' ', e1);
			n += random_string(&r, 5, ' ', e2) + 5;
			for (int i = 0; i < 4; i++)
				cc[i] = rng_below(&r, 10000);
			sprintf(card, "%04d %04d %04d %04d", cc[0], cc[1], cc[2], cc[3]);
			ci = city[rng_below(&r, 10)];
			st = state[rng_below(&r, 6)];
			extra_string(&r, (int) (8 + strlen(name) + n + 19 + strlen(ci) + 2), cfg_avg_person, extra);
			fprintf(f, "%s%" PRId64 "\t%s\t%s@%s.com\t%s\t%s\t%s\t", copy_format ? "" : "P\t",
					last_person(id) + FIRST, name, e1, e2, card, ci, st);
			put_time(f, ms);
		}
		else if (off < cfg_p + cfg_a)
		{
			int64_t		seller,
						category,
						initial,
						expires,
						reserve,
						horizon;
			char		item[24],
						desc[104];
			int			used;

			f = out_a;
			seller = rng_below(&r, cfg_hot_seller) > 0 ? last_person(id) / HOT * HOT : some_person(&r, id);
			category = FIRST_CATEGORY + rng_below(&r, CATEGORIES);
			initial = price(&r);
			horizon = event_ms(adj + (int64_t) cfg_in_flight * cfg_total / cfg_a) - ms;
			expires = ms + 1 + rng_long_below(&r, horizon * 2 > 1 ? horizon * 2 : 1);
			used = random_string(&r, 20, ' ', item);
			used += random_string(&r, 100, ' ', desc);
			reserve = initial + price(&r);
			extra_string(&r, 48 + used, cfg_avg_auction, extra);
			fprintf(f, "%s%" PRId64 "\t%s\t%s\t%" PRId64 "\t%" PRId64 "\t", copy_format ? "" : "A\t",
					last_auction(id) + FIRST, item, desc, initial, reserve);
			put_time(f, ms);
			putc('\t', f);
			put_time(f, expires);
			fprintf(f, "\t%" PRId64 "\t%" PRId64, seller + FIRST, category);
		}
		else
		{
			int64_t		auction,
						bidder,
						amount;

			f = out_b;
			auction = rng_below(&r, cfg_hot_auction) > 0 ? last_auction(id) / HOT * HOT : some_auction(&r, id);
			bidder = rng_below(&r, cfg_hot_bidder) > 0 ? last_person(id) / HOT * HOT + 1 : some_person(&r, id);
			amount = price(&r);
			fprintf(f, "%s%" PRId64 "\t%" PRId64 "\t%" PRId64 "\t", copy_format ? "" : "B\t",
					auction + FIRST, bidder + cfg_bidder_base, amount);
			if (juc)
			{
				if (copy_format)
					fputs("\t\t", f);	/* Beam's bid has neither channel nor url */
			}
			else if (rng_below(&r, 2) > 0)
			{
				int			i = rng_below(&r, 4);

				fprintf(f, "%s\t%s\t", hot_channel[i], hot_url[i]);
			}
			else
			{
				int			i = rng_below(&r, CHANNELS);

				fprintf(f, "channel-%d\t%s\t", i, channel_url[i]);
			}
			extra_string(&r, 32, cfg_avg_bid, extra);
			put_time(f, ms);
		}
		putc('\t', f);
		put_text(f, extra);
		fprintf(f, "\t%" PRId64 "\n", copy_format ? k : wm);
	}
	return 0;
}
