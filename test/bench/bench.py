# test/bench/bench.py: the measurements of test/bench/run.
#
# A ratio is the median over repetitions of pairs measured one after the other, so
# that what the machine does meanwhile touches both sides.
import os
import statistics
import subprocess
import sys
import time

SCALE = float(os.environ["SCALE"])
WORK = os.environ["WORK"]
MILLION = int(1_000_000 * SCALE)
COLUMNS = "auction bigint, bidder bigint, price bigint, channel text, url text, date_time timestamp, extra text"
FEW = ("SELECT window_start, window_end, channel, count(*) AS n, sum(price) AS total, avg(price) AS mean, max(price) AS top "
       "FROM {s}, tumble(date_time, interval '10 seconds') GROUP BY window_start, window_end, channel")
MANY = ("SELECT window_start, window_end, auction, count(*) AS n, sum(price) AS total "
        "FROM {s}, tumble(date_time, interval '10 seconds') GROUP BY window_start, window_end, auction")
missed = 0


def psql(*commands, script=None):
    args = ["psql", "-XqAt", "-v", "ON_ERROR_STOP=1"]
    for command in commands:
        args += ["-c", command]
    if script is not None:
        args += ["-f", "-"]
    done = subprocess.run(args, input=script, text=True, capture_output=True)
    if done.returncode:
        raise SystemExit(f"failed: {commands or script[:200]}\n{done.stderr}")
    return done.stdout.strip()


def seconds(*commands, script=None):
    began = time.monotonic()
    psql(*commands, script=script)
    return time.monotonic() - began


def floor(what, value, limit, most=True, unit=""):
    """Report one floor: value at most (or at least) limit."""
    global missed
    ok = value <= limit if most else value >= limit
    missed += not ok
    print(f"{'ok  ' if ok else 'MISS'}  {what:<66} {value:8.2f}{unit}   {'at most' if most else 'at least'} {limit}{unit}", flush=True)


def note(text):
    print(f"      {text}", flush=True)


def stream(name, watermark="1 second"):
    quoted = f"date_time - interval ''{watermark}''"
    columns = COLUMNS.replace("date_time timestamp", "date_time timestamp OPTIONS (event_time 'true')")
    psql(f"CREATE FOREIGN TABLE {name} ({columns}) SERVER stream_engine OPTIONS (watermark '{quoted}')")


def view(name, query, start="now"):
    psql(f"CREATE MATERIALIZED VIEW {name} WITH (stream_engine.continuous, stream_engine.start = '{start}') AS {query}")


def drop(*streams):
    for s in streams:
        psql(f"SET client_min_messages = warning; DROP FOREIGN TABLE IF EXISTS {s} CASCADE")


def copy(table, file):
    return f"COPY {table} FROM '{file}' (FORMAT csv)"


def make_files():
    """few.csv: 17 windows x 100 channels, in three.csv three times the rows; many.csv: about 104,000 auctions in each of 17
    windows; many parts of few."""
    row = ("SELECT {auction}, (hash_seed * 7 + i) % 50000, 100 + (i::bigint * 7919 % 100000), 'channel-' || (i * 31 % 100), "
           "'https://www.example.com/' || md5(i::text), timestamp '2024-01-01' + i * (interval '170 seconds' / {n}), "
           "left(md5((i + 1)::text), 24) FROM generate_series(0, {n} - 1) i, (SELECT 12345 AS hash_seed) h")
    for name, n, auction in (("few", MILLION, "1000 + i % 997"), ("three", 3 * MILLION, "1000 + i % 997"),
                             ("many", 3 * MILLION, f"1000 + (hashint8(i)::bigint & 2147483647) % {max(1, int(150_000 * SCALE))}")):
        query = row.replace("{auction}", auction).replace("{n}", str(n))
        psql(f"COPY ({query}) TO '{WORK}/{name}.csv' (FORMAT csv)")
        size = os.path.getsize(f"{WORK}/{name}.csv")
        note(f"{name}.csv: {n} rows, {size / n:.0f} bytes each")
    subprocess.run(["split", "-n", "l/100", f"{WORK}/few.csv", f"{WORK}/part."], check=True)


def bench_copy():
    """COPY into a stream that one view reads, against an ordinary logged table."""
    ratios = []
    for _ in range(3):
        stream("s")
        view("v", FEW.format(s="s"))
        psql(f"CREATE TABLE t ({COLUMNS})")
        psql(copy("t", f"{WORK}/few.csv"), "TRUNCATE t")
        table = seconds(copy("t", f"{WORK}/few.csv"))
        into_stream = seconds(copy("s", f"{WORK}/few.csv"))
        psql("REFRESH MATERIALIZED VIEW v")
        ratios.append(into_stream / table)
        psql("DROP TABLE t")
        drop("s")
    floor("COPY into a stream with a view / into a table", statistics.median(ratios), 0.85)


def bench_refresh():
    """Start of COPY until REFRESH returns, against the same COPY into a stream nobody reads."""
    parts = sorted(f for f in os.listdir(WORK) if f.startswith("part."))

    def many_copies(table):
        return "\n".join(copy(table, f"{WORK}/{p}") + ";" for p in parts) + "\n"

    def pair(query, alone, both):
        ratios = []
        for _ in range(3):
            stream("nobody")
            stream("s")
            view("v", query.format(s="s"))
            a = seconds(script=alone)
            b = seconds(script=both)
            ratios.append(b / a)
            drop("nobody", "s")
        return statistics.median(ratios)

    refresh = "REFRESH MATERIALIZED VIEW v;\n"
    one = f"{WORK}/few.csv"
    floor("few groups, one COPY until REFRESH / COPY alone", pair(FEW, copy("nobody", one) + ";\n", copy("s", one) + ";\n" + refresh), 1.20)
    floor("few groups, 100 COPYs until REFRESH / COPYs alone", pair(FEW, many_copies("nobody"), many_copies("s") + refresh), 1.10)
    many = f"{WORK}/many.csv"
    floor("many groups, one COPY until REFRESH / COPY alone", pair(MANY, copy("nobody", many) + ";\n", copy("s", many) + ";\n" + refresh), 1.6)


def bench_engine():
    """A stream already in the WAL, read from its beginning: rows a second against COPY's."""
    def measure(query, file, n, limits):
        stream("s")
        view("keeper", "SELECT auction FROM s WHERE false")
        alone = seconds(copy("s", file))
        psql("REFRESH MATERIALIZED VIEW keeper")
        open_windows, closed = [], []
        for _ in range(3):
            began = time.monotonic()
            view("v", query.format(s="s"), "earliest")
            psql("REFRESH MATERIALIZED VIEW v")
            open_windows.append(time.monotonic() - began)
            psql("DROP MATERIALIZED VIEW v")
        note(f"COPY alone {n / alone / 1e6:.2f} M rows/s; engine {n / statistics.median(open_windows) / 1e6:.2f} M rows/s")
        if limits[1] is not None:
            # One watermark that never passes a window's end while rows come in, then all close at once.
            drop("s")
            stream("s", "1 day")
            view("keeper", "SELECT auction FROM s WHERE false")
            alone = seconds(copy("s", file))
            psql("REFRESH MATERIALIZED VIEW keeper")
            open_windows = []
            began = time.monotonic()
            view("v", query.format(s="s"), "earliest")
            psql("REFRESH MATERIALIZED VIEW v")
            open_windows.append(time.monotonic() - began)
            psql("SELECT stream_engine.emit_watermark('s', 'infinity')", "REFRESH MATERIALIZED VIEW v")
            closed.append(time.monotonic() - began)
            note(f"groups: {psql('SELECT count(*) FROM v')}")
        drop("s")
        return alone, statistics.median(open_windows), statistics.median(closed) if closed else None

    alone, engine, _ = measure(FEW, f"{WORK}/three.csv", 3 * MILLION, (8, None))
    floor("engine alone, few groups: rows/s / COPY's", alone / engine, 8, most=False)
    alone, engine, closed = measure(MANY, f"{WORK}/many.csv", 3 * MILLION, (3, 2))
    floor("engine alone, many groups, until windows close: rows/s / COPY's", alone / engine, 3, most=False)
    floor("engine alone, many groups, results written: rows/s / COPY's", alone / closed, 2, most=False)


def bench_hop():
    """hop(s, k*s) against tumble(s): 100 active keys, 100 rows per slice and key."""
    n = MILLION
    slice_rows = 100 * 100
    step = "1 second"
    psql(f"COPY (SELECT i % 100, i, i % 1009, 'c', 'u', timestamp '2024-01-01' + (i / {slice_rows}::float8) * interval '{step}', 'e' "
         f"FROM generate_series(0, {n} - 1) i) TO '{WORK}/hop.csv' (FORMAT csv)")
    stream("s")
    view("keeper", "SELECT auction FROM s WHERE false")
    psql(copy("s", f"{WORK}/hop.csv"), "REFRESH MATERIALIZED VIEW keeper")

    def measure(window):
        times = []
        for _ in range(3):
            began = time.monotonic()
            view("v", f"SELECT window_start, window_end, auction, count(*) AS n, sum(price) AS total, max(bidder) AS top FROM s, {window} "
                      "GROUP BY window_start, window_end, auction", "earliest")
            psql("REFRESH MATERIALIZED VIEW v")
            times.append(time.monotonic() - began)
            psql("DROP MATERIALIZED VIEW v")
        return statistics.median(times)

    tumble = measure(f"tumble(date_time, interval '{step}')")
    note(f"tumble: {tumble / n * 1e6:.3f} us a row, its results written")
    for k in (1, 10, 100, 1000):
        hop = measure(f"hop(date_time, interval '{step}', {k} * interval '{step}')")
        floor(f"hop(s, {k} s) / tumble(s), per row", hop / tumble, 1.3)
    drop("s")


def bench_cumulate():
    """cumulate(step, size) against tumble(step), per input and output row: 100 active keys, then 10,000."""
    n = 3 * MILLION
    for keys in (100, 10_000):
        psql(f"COPY (SELECT (hashint8(i)::bigint & 2147483647) % {keys}, i, i % 1009, 'c', 'u', "
             f"timestamp '2024-01-01' + i * interval '100 us', 'e' FROM generate_series(0, {n} - 1) i) TO '{WORK}/cumulate.csv' (FORMAT csv)")
        stream("s")
        view("keeper", "SELECT auction FROM s WHERE false")
        psql(copy("s", f"{WORK}/cumulate.csv"), "SELECT stream_engine.emit_watermark('s', 'infinity')", "REFRESH MATERIALIZED VIEW keeper")

        def once(window):
            began = time.monotonic()
            view("v", f"SELECT auction, window_start, window_end, count(*) AS n, sum(price) AS total, max(bidder) AS top FROM s, {window} "
                      "GROUP BY auction, window_start, window_end", "earliest")
            psql("REFRESH MATERIALIZED VIEW v")
            took = time.monotonic() - began
            out = int(psql("SELECT count(*) FROM v"))
            psql("DROP MATERIALIZED VIEW v")
            return took / (n + out), out

        pairs = [(once("tumble(date_time, interval '5 seconds')"), once("cumulate(date_time, interval '5 seconds', interval '1 minute')"))
                 for _ in range(3)]
        for number, window in enumerate(("tumble", "cumulate")):
            note(f"{window}, {keys} keys: {pairs[0][number][0] * 1e6:.3f} us a row, {pairs[0][number][1]} results")
        floor(f"cumulate / tumble, per row in and out, {keys} keys", statistics.median(c[0] / t[0] for t, c in pairs), 1.5)
        drop("s")


def bench_update():
    """Results with each commit, every 100 ms, against once at the close: 1,700 groups, all in one window, then in 17."""
    n = 3 * MILLION
    psql("ALTER SYSTEM SET stream_engine.checkpoint_interval = '100ms'", "SELECT pg_reload_conf()")
    stream("s", "1 second")
    view("keeper", "SELECT auction FROM s WHERE false")
    psql(copy("s", f"{WORK}/three.csv"), "SELECT stream_engine.emit_watermark('s', 'infinity')", "REFRESH MATERIALIZED VIEW keeper")

    def once(key, size, emit):
        began = time.monotonic()
        psql(f"CREATE MATERIALIZED VIEW v WITH (stream_engine.continuous, stream_engine.start = earliest, stream_engine.emit = '{emit}') AS "
             f"SELECT window_end, {key} AS k, count(*) AS n, sum(price) AS total, avg(price) AS mean, max(price) AS top "
             f"FROM s, tumble(date_time, interval '{size}') GROUP BY window_end, {key}", "REFRESH MATERIALIZED VIEW v")
        took = time.monotonic() - began
        commits = psql("SELECT commits FROM stream_engine.checkpoints WHERE view = 'v'::regclass")
        groups = psql("SELECT count(*) FROM v")
        psql("DROP MATERIALIZED VIEW v")
        return took, commits, groups

    for key, size in (("price % 1700", "170 seconds"), ("channel", "10 seconds")):
        pairs = [(once(key, size, "on_close"), once(key, size, "on_update")) for _ in range(5)]
        for number, mode in enumerate(("on_close", "on_update")):
            took, commits, groups = pairs[-1][number]
            note(f"{mode}: {took / n * 1e6:.3f} us a row, {commits} commits, {groups} groups")
        floor(f"on_update / on_close, groups by {key} in windows of {size}", statistics.median(u[0] / c[0] for c, u in pairs), 1.3)
    drop("s")
    psql("ALTER SYSTEM RESET stream_engine.checkpoint_interval", "SELECT pg_reload_conf()")


def bench_session():
    """session() against tumble() of the gap's length, 100,000 keys, rows in order and a tenth of them not."""
    n = 3 * MILLION
    for name, late in (("in order", "0"), ("10 % out of order", "CASE WHEN i % 10 = 3 THEN 20 ELSE 0 END")):
        psql(f"COPY (SELECT (hashint8(i)::bigint & 2147483647) % 100000, i, i % 1009, 'c', 'u', "
             f"timestamp '2024-01-01' + i * interval '1 ms' - ({late}) * interval '1 second', 'e' "
             f"FROM generate_series(0, {n} - 1) i) TO '{WORK}/session.csv' (FORMAT csv)")
        stream("s", "30 seconds")
        view("keeper", "SELECT auction FROM s WHERE false")
        psql(copy("s", f"{WORK}/session.csv"), "SELECT stream_engine.emit_watermark('s', 'infinity')", "REFRESH MATERIALIZED VIEW keeper")
        times = {}
        for _ in range(3):
            for window in ("tumble", "session"):
                began = time.monotonic()
                view("v", f"SELECT auction, window_start, window_end, count(*) AS n, sum(price) AS total, max(bidder) AS top FROM s, "
                          f"{window}(date_time, interval '100 seconds') GROUP BY auction, window_start, window_end", "earliest")
                psql("REFRESH MATERIALIZED VIEW v")
                times.setdefault(window, []).append(time.monotonic() - began)
                if len(times[window]) == 1:
                    note(f"{window}: {times[window][0] / n * 1e6:.3f} us a row, {psql('SELECT count(*) FROM v')} results")
                psql("DROP MATERIALIZED VIEW v")
        ratio = statistics.median(b / a for a, b in zip(times["tumble"], times["session"]))
        floor(f"session / tumble, per row, 100,000 keys, {name}", ratio, 2 if late == "0" else 3)
        drop("s")


def bench_count():
    """count_window(100) against tumble() of 100 rows per key; and sliding windows of 1,000 and of 10,000 rows against each other."""
    n = 3 * MILLION
    for keys in (100, 10_000):
        psql(f"COPY (SELECT i % {keys}, i, i % 1009, 'c', 'u', timestamp '2024-01-01' + (i / {keys * 100}::float8) * interval '1 second', 'e' "
             f"FROM generate_series(0, {n} - 1) i) TO '{WORK}/count.csv' (FORMAT csv)")
        stream("s")
        view("keeper", "SELECT auction FROM s WHERE false")
        psql(copy("s", f"{WORK}/count.csv"), "SELECT stream_engine.emit_watermark('s', 'infinity')", "REFRESH MATERIALIZED VIEW keeper")

        def once(window, columns):
            began = time.monotonic()
            view("v", f"SELECT auction, {columns}, count(*) AS n, sum(price) AS total, max(bidder) AS top FROM s, {window} "
                      f"GROUP BY auction, {columns}", "earliest")
            psql("REFRESH MATERIALIZED VIEW v")
            took = time.monotonic() - began
            out = int(psql("SELECT count(*) FROM v"))
            psql("DROP MATERIALIZED VIEW v")
            return took / n, out

        pairs = [(once("tumble(date_time, interval '1 second')", "window_start, window_end"), once("count_window(100)", "window_id"))
                 for _ in range(3)]
        for number, window in enumerate(("tumble", "count_window(100)")):
            note(f"{window}, {keys} keys: {pairs[0][number][0] * 1e6:.3f} us a row, {pairs[0][number][1]} results")
        floor(f"count_window(100) / tumble, per row, {keys} keys", statistics.median(c[0] / t[0] for t, c in pairs), 1.5)
        if keys == 100:
            pairs = [(once("count_window(1000, 100)", "window_id"), once("count_window(10000, 100)", "window_id")) for _ in range(3)]
            for number, window in enumerate(("count_window(1000, 100)", "count_window(10000, 100)")):
                note(f"{window}: {pairs[0][number][0] * 1e6:.3f} us a row, {pairs[0][number][1]} results")
            floor("count_window(10000, 100) / count_window(1000, 100), per row", statistics.median(c[0] / t[0] for t, c in pairs), 1.3)
        drop("s")


def bench_calendar():
    """Windows in a time zone against the same without: rows in order, few groups, from the log's beginning until they are closed."""
    n = 3 * MILLION
    columns = COLUMNS.replace("date_time timestamp", "date_time timestamptz OPTIONS (event_time 'true')")
    psql(f"CREATE FOREIGN TABLE z ({columns}) SERVER stream_engine OPTIONS (watermark 'date_time - interval ''1 second''')")
    view("keeper", "SELECT auction FROM z WHERE false")
    psql(copy("z", f"{WORK}/three.csv"), "REFRESH MATERIALIZED VIEW keeper")

    def once(window, aggregate):
        began = time.monotonic()
        view("v", f"SELECT window_start, window_end, channel, count(*) AS n, {aggregate} AS a FROM z, {window} "
                  "GROUP BY window_start, window_end, channel", "earliest")
        psql("REFRESH MATERIALIZED VIEW v")
        took = time.monotonic() - began
        psql("DROP MATERIALIZED VIEW v")
        return took

    for name, arguments, aggregate in (("tumble", "date_time, interval '1 second'", "sum(price)"),
                                       ("hop", "date_time, interval '1 second', interval '1 minute'", "sum(price)"),
                                       ("cumulate", "date_time, interval '1 second', interval '1 minute'", "sum(price)"),
                                       ("expanded hop", "date_time, interval '1 minute', interval '5 minutes'", "max(window_end - date_time)")):
        window = f"{name.split()[-1]}({arguments}"
        pairs = [(once(window + ")", aggregate), once(window + ", timezone => 'Europe/Berlin')", aggregate)) for _ in range(5)]
        note(f"{name}: {statistics.median(p for p, _ in pairs) / n * 1e6:.3f} us a row without a zone")
        floor(f"{name} in a time zone / without, per row", statistics.median(z / p for p, z in pairs), 1.3)
    drop("z")


def bench_latency():
    """Commit to result with 8 clients and 1,000 single-row commits a second."""
    psql("ALTER SYSTEM SET stream_engine.checkpoint_interval = '20ms'", "SELECT pg_reload_conf()")
    stream("s")
    view("filtered", "SELECT auction, proctime() AS committed FROM s WHERE price >= 0")
    view("counted", "SELECT channel, count(*) AS n FROM s GROUP BY channel")
    with open(f"{WORK}/one.sql", "w") as script:
        script.write("\\set a random(1, 1000)\nINSERT INTO s VALUES (:a, 1, 5, 'c' || :client_id, 'u', clock_timestamp()::timestamp, 'e');\n")
    load = subprocess.Popen(["pgbench", "-n", "-c", "8", "-j", "2", "-R", "1000", "-T", "20", "-f", f"{WORK}/one.sql"],
                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    # The probe: an ordinary session that writes a row and looks until the results show it.
    probe = """
CREATE TABLE probed (view text, ms float8);
CREATE PROCEDURE probe(rounds int) LANGUAGE plpgsql AS $$
DECLARE began timestamptz;
BEGIN
  FOR i IN 1 .. rounds LOOP
    INSERT INTO s VALUES (-i, 1, 5, 'probe', 'u', clock_timestamp()::timestamp, 'e');
    COMMIT;
    began := clock_timestamp();
    IF i % 2 = 0 THEN
      LOOP EXIT WHEN EXISTS (SELECT FROM filtered WHERE auction = -i); PERFORM pg_sleep(0.001); END LOOP;
      INSERT INTO probed VALUES ('filtered', extract(epoch FROM clock_timestamp() - began) * 1000);
    ELSE
      LOOP EXIT WHEN EXISTS (SELECT FROM counted WHERE channel = 'probe' AND n >= i); PERFORM pg_sleep(0.001); END LOOP;
      INSERT INTO probed VALUES ('counted', extract(epoch FROM clock_timestamp() - began) * 1000);
    END IF;
    COMMIT;
  END LOOP;
END $$;
CREATE INDEX ON filtered (auction);
CALL probe(200);
"""
    psql(script=probe)
    load.wait()
    rows = psql("REFRESH MATERIALIZED VIEW filtered", "SELECT count(*) FROM filtered").split()[-1]
    p50, p99 = psql("SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY l), percentile_disc(0.99) WITHIN GROUP (ORDER BY l) FROM ("
                    "SELECT extract(epoch FROM pg_xact_commit_timestamp(xmin) - committed) * 1000 AS l FROM filtered) x").split("|")
    note(f"filter view: {rows} rows, commit record to result commit p50 {float(p50):.1f} ms")
    floor("filter view, p99 commit record to result commit", float(p99), 60, unit=" ms")
    for name in ("filtered", "counted"):
        p50, p99 = psql("SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY ms), percentile_disc(0.99) WITHIN GROUP (ORDER BY ms) "
                        f"FROM probed WHERE view = '{name}'").split("|")
        note(f"{name}: the probe saw p50 {float(p50):.1f} ms")
        floor(f"{name}, p99 as the probe saw it", float(p99), 60, unit=" ms")
    drop("s")
    psql("ALTER SYSTEM RESET stream_engine.checkpoint_interval", "SELECT pg_reload_conf()")


def bench_closing():
    """100 windows of 100,000 keys closed by one watermark: what the rows of another job wait meanwhile."""
    keys = int(100_000 * SCALE)
    psql("ALTER SYSTEM SET stream_engine.checkpoint_interval = '20ms'", "ALTER SYSTEM SET stream_engine.state_memory = '8GB'",
         "SELECT pg_reload_conf()")
    stream("s", "1 day")
    stream("other")
    view("v", MANY.format(s="s"))
    view("seen", "SELECT auction FROM other WHERE price >= 0")
    psql(script="""
CREATE INDEX ON seen (auction);
CREATE UNLOGGED TABLE waited (phase text, ms float8);
CREATE UNLOGGED TABLE finished (at timestamptz);
CREATE PROCEDURE probe(phase text, first bigint) LANGUAGE plpgsql AS $$
DECLARE began timestamptz; i bigint := first;
BEGIN
  LOOP
    i := i + 1;
    INSERT INTO other VALUES (i, 1, 5, 'c', 'u', clock_timestamp()::timestamp, 'e');
    COMMIT;
    began := clock_timestamp();
    LOOP EXIT WHEN EXISTS (SELECT FROM seen WHERE auction = i); PERFORM pg_sleep(0.001); END LOOP;
    INSERT INTO waited VALUES (phase, extract(epoch FROM clock_timestamp() - began) * 1000);
    COMMIT;
    EXIT WHEN EXISTS (SELECT FROM finished) OR (phase = 'quiet' AND i >= first + 500);
  END LOOP;
END $$;
""")
    psql(f"INSERT INTO s SELECT k, w, k + w, 'c', 'u', timestamp '2024-01-01' + w * interval '10 seconds', 'e' "
         f"FROM generate_series(0, 99) w, generate_series(1, {keys}) k", "REFRESH MATERIALIZED VIEW v")
    psql("CALL probe('quiet', 0)")
    began = time.monotonic()
    closing = subprocess.Popen(["psql", "-XqAt", "-c", "SELECT stream_engine.emit_watermark('s', 'infinity')",
                                "-c", "REFRESH MATERIALIZED VIEW v", "-c", "INSERT INTO finished VALUES (now())"], stdout=subprocess.DEVNULL)
    psql("CALL probe('closing', 1000000)")
    closing.wait()
    note(f"{psql('SELECT count(*) FROM v')} of {100 * keys} groups written in {time.monotonic() - began:.1f} s")
    quiet, longest, probes = psql("SELECT max(ms) FILTER (WHERE phase = 'quiet'), max(ms) FILTER (WHERE phase = 'closing'), "
                                  "count(*) FILTER (WHERE phase = 'closing') FROM waited").split("|")
    note(f"{probes} probes meanwhile; longest wait {float(longest):.1f} ms, {float(quiet):.1f} ms when nothing closes")
    floor("100 windows close: another job's longest wait, above its own", float(longest) - float(quiet), 50, unit=" ms")
    right = psql(f"SELECT count(*) = 100 * {keys} AND sum(n) = 100 * {keys} AND sum(total) = 100 * {keys}::numeric * ({keys} + 1) / 2 + "
                 f"4950 * {keys}::numeric FROM v")
    if right != "t":
        raise SystemExit("the closed windows are not what was written")
    drop("s", "other")
    psql("ALTER SYSTEM RESET stream_engine.checkpoint_interval", "ALTER SYSTEM RESET stream_engine.state_memory", "SELECT pg_reload_conf()")


BENCHES = {"copy": bench_copy, "refresh": bench_refresh, "engine": bench_engine, "hop": bench_hop, "cumulate": bench_cumulate, "update": bench_update, "session": bench_session, "count": bench_count, "calendar": bench_calendar, "latency": bench_latency, "closing": bench_closing}
psql("CREATE EXTENSION stream_engine")
print(f"stream_engine {psql('SHOW server_version')}, {os.cpu_count()} cores, scale {SCALE}", flush=True)
make_files()
for chosen in sys.argv[1:] or BENCHES:
    BENCHES[chosen]()
print(f"{missed} floors missed")
sys.exit(1 if missed else 0)
