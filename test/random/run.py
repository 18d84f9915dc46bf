#!/usr/bin/env python3
# test/random/run.py: random queries over random rows; every view must equal its oracle.
#
#   run.py --queries N --seed S [--round R]
#
# A *round* is one stream, its rows, and ten views over it. Everything of round R follows
# from (S, R), so a failing round is repeated alone with --round. Prints one line per
# view. Needs a server in the environment and a database with the extension.
import argparse
import random
import subprocess
import sys

import queries
import rows

SUPPORT = """
SET client_min_messages = warning;
CREATE FUNCTION random_longer(text, text) RETURNS text LANGUAGE sql IMMUTABLE AS
  $$ SELECT CASE WHEN $1 IS NULL OR length($2) > length($1) OR (length($2) = length($1) AND $2 < $1 COLLATE "C") THEN $2 ELSE $1 END $$;
CREATE AGGREGATE random_sum(bigint) (sfunc = int8pl, stype = bigint, initcond = '0', combinefunc = int8pl, parallel = safe);
CREATE AGGREGATE random_longest(text) (sfunc = random_longer, stype = text);
-- Sessions by definition, row by row in order of arrival: which session each row is in; NULL bounds: late. A session takes rows
-- until the watermark is above its end by more than `lateness`. `input` gives
-- arrival, key, us, gap_us and wm (the watermark before the row) of the rows that count.
CREATE FUNCTION random_sessions(input text, lateness bigint) RETURNS TABLE (arrival bigint, ws bigint, we bigint) LANGUAGE plpgsql
SET client_min_messages = warning AS $$
DECLARE
    r record;
    joined record;
    n bigint := 0;
BEGIN
    DROP TABLE IF EXISTS pg_temp.open_sessions, pg_temp.members;
    CREATE TEMP TABLE open_sessions (id bigint, key text, ws bigint, we bigint);
    CREATE TEMP TABLE members (arrival bigint, id bigint, ws bigint, we bigint);
    CREATE INDEX ON members (id);
    FOR r IN EXECUTE input || ' ORDER BY arrival' LOOP
        DELETE FROM open_sessions o WHERE o.we + lateness < r.wm;
        IF r.us IS NULL OR r.gap_us IS NULL THEN CONTINUE; END IF;
        SELECT min(o.ws) AS ws, max(o.we) AS we, array_agg(o.id) AS ids INTO joined FROM open_sessions o
            WHERE o.key = r.key AND o.ws <= r.us + r.gap_us AND o.we >= r.us;
        IF joined.ids IS NULL AND r.us + r.gap_us + lateness < r.wm THEN
            INSERT INTO members VALUES (r.arrival);
            CONTINUE;
        END IF;
        n := n + 1;
        DELETE FROM open_sessions o WHERE o.id = ANY (joined.ids);
        INSERT INTO open_sessions VALUES (n, r.key, least(joined.ws, r.us), greatest(joined.we, r.us + r.gap_us));
        UPDATE members m SET id = n WHERE m.id = ANY (joined.ids);
        INSERT INTO members VALUES (r.arrival, n);
        UPDATE members m SET ws = o.ws, we = o.we FROM open_sessions o WHERE o.id = n AND m.id = n;
    END LOOP;
    RETURN QUERY SELECT m.arrival, m.ws, m.we FROM members m;
END $$;
-- Groups that are forgotten `ttl` after their last row, likewise: which life of its group each row is in (NULL: late), and when
-- that one was over as far as was known. A row without time counts as written at the watermark.
CREATE FUNCTION random_lives(input text, ttl bigint) RETURNS TABLE (arrival bigint, key text, life bigint, over numeric) LANGUAGE plpgsql
SET client_min_messages = warning AS $$
DECLARE
    r record;
    n record;
BEGIN
    DROP TABLE IF EXISTS pg_temp.now_living;
    CREATE TEMP TABLE now_living (key text, life bigint, over numeric);
    CREATE INDEX ON now_living (key);
    FOR r IN EXECUTE input || ' ORDER BY arrival' LOOP
        SELECT * INTO n FROM now_living l WHERE l.key = r.key;
        arrival := r.arrival; key := r.key; life := n.life;
        over := coalesce(r.us, r.wm, -1e18) + ttl;
        IF n.life IS NULL OR n.over <= r.wm THEN
            life := CASE WHEN r.us IS NULL OR r.wm IS NULL OR over > r.wm THEN coalesce(n.life, 0) + 1 END;
        ELSE
            over := greatest(over, n.over);
        END IF;
        IF life IS NOT NULL THEN
            DELETE FROM now_living l WHERE l.key = r.key;
            INSERT INTO now_living VALUES (r.key, life, over);
        END IF;
        RETURN NEXT;
    END LOOP;
END $$;
"""


def psql(script, stop=True):
    """Run a script; (ok, what it printed)."""
    done = subprocess.run(["psql", "-XqAt", "-v", f"ON_ERROR_STOP={int(stop)}", "-f", "-"], input=script, text=True,
                          capture_output=True, timeout=300)
    return done.returncode == 0 and (stop or "ERROR" not in done.stderr), done.stdout + done.stderr


def differences(view, oracle):
    """SQL that shows rows only one side has; nothing if they are equal."""
    return (f"SET timezone = 'UTC'; WITH v AS (SELECT t::text AS r FROM {view} t), q AS (SELECT t::text AS r FROM ({oracle}) t) "
            f"SELECT 'only in the view: ' || r FROM (SELECT r FROM v EXCEPT ALL SELECT r FROM q) d "
            f"UNION ALL SELECT 'missing in the view: ' || r FROM (SELECT r FROM q EXCEPT ALL SELECT r FROM v) d LIMIT 10;")


def late_differences(view, query):
    return (f"SELECT 'late rows and pairs are ' || p.late_rows || ', ' || p.late_pairs || ', not ' || q.a || ', ' || q.b "
            f"FROM stream_engine.job_positions p, ({query.late}) q(a, b) WHERE p.job = '{view}'::regclass AND (p.late_rows, p.late_pairs) <> (q.a, q.b);")


def late_output_differences(view, query, twin):
    return (f"WITH l AS (SELECT id, k_text FROM late_{view}), q AS (SELECT id, k_text FROM {twin} WHERE arrival IN ({query.late_arrivals})) "
            f"SELECT 'late by mistake: ' || d::text FROM (SELECT * FROM l EXCEPT ALL SELECT * FROM q) d "
            f"UNION ALL SELECT 'not in late_output: ' || d::text FROM (SELECT * FROM q EXCEPT ALL SELECT * FROM l) d LIMIT 10;")


def run_round(seed, number, count):
    """The number of views that failed."""
    rng = random.Random(f"{seed}/{number}")
    writer = rows.Writer(rng, number)
    chosen = [queries.choose(rng, writer.table) for _ in range(count)]
    failed = 0

    def report(i, ok, detail=""):
        nonlocal failed
        kind = f"{chosen[i].kind}{' late' if writer.late else ''}" if i is not None else ""
        if not ok:
            failed += 1
            if i is not None:
                print(f"view:   {chosen[i].view}{chosen[i].options}\noracle: {chosen[i].oracle}")
            print(f"{detail.strip()}\nrepeat with: make check-random SEED={seed} ROUND={number}")
        print(f"{'ok' if ok else 'not ok'} - round {number} view {i} {kind}", flush=True)

    settings = (f"ALTER SYSTEM SET stream_engine.batch_rows = {rng.choice([1, 3, 64, 512, 512])};\n"
                f"ALTER SYSTEM SET stream_engine.checkpoint_interval = '{rng.choice([1, 20, 200])}ms';\nSELECT pg_reload_conf();\n")
    psql(settings)
    ok, output = psql(writer.definitions())
    if not ok:
        report(None, False, output)
        return failed
    created = []
    for i, query in enumerate(chosen):
        if query.late_arrivals:
            query.options += f", stream_engine.late_output = 'public.late_v{number}_{i}'"
        ok, output = psql(f"SET client_min_messages = warning;\nCREATE MATERIALIZED VIEW v{number}_{i} WITH (stream_engine.continuous{query.options}) AS {query.view};\n")
        if ok:
            created.append(i)
        else:
            report(i, False, output)
    writer.fill()
    ok, output = psql(writer.twin_script())
    at = 0
    for script_end, arrived in writer.pauses + [(len(writer.script), None)]:
        if ok:
            ok, output = psql("\n".join(writer.script[at:script_end]) + "\n")
        at = script_end
        if not ok or arrived is None:
            continue
        for i in [i for i in created if chosen[i].always]:
            view = f"v{number}_{i}"
            prefix = (f"SET client_min_messages = warning; SET statement_timeout = '60s'; REFRESH MATERIALIZED VIEW {view};\n"
                      f"CREATE TEMP TABLE {writer.table.twin} AS SELECT * FROM public.{writer.table.twin} WHERE arrival <= {arrived};\n")
            same, output = psql(prefix + differences(view, chosen[i].oracle))
            if not same or output != "":
                report(i, False, f"after {arrived} arrivals: {output}")
                created.remove(i)
        # When results come is altered in between; what is final is not.
        for i in [i for i in created if "stream_engine.emit = " in chosen[i].options and rng.random() < 0.4]:
            mode = rng.choice(["on_update", f"every {rng.randint(1, 4)} rows"])
            same, output = psql(f"ALTER MATERIALIZED VIEW v{number}_{i} SET (stream_engine.emit = '{mode}');\n")
            chosen[i].options += f" altered after {arrived} arrivals: {mode}"
            chosen[i].always = mode == "on_update"
            if not same:
                report(i, False, output)
                created.remove(i)
    if not ok:
        report(None, False, output)
    for i in created:
        view = f"v{number}_{i}"
        ok, output = psql(f"SET statement_timeout = '60s';\nREFRESH MATERIALIZED VIEW {view};\n")
        if ok:
            ok, output = psql(differences(view, chosen[i].final or chosen[i].oracle))
            if ok and output == "" and chosen[i].late:
                ok, output = psql(late_differences(view, chosen[i]))
            if ok and output == "" and chosen[i].late_arrivals:
                ok, output = psql(late_output_differences(view, chosen[i], writer.table.twin))
        report(i, ok and output == "", output)
    ok, output = psql(writer.left_out_script())
    if not ok or output != "":
        report(None, False, output)
    ok, output = psql(f"SET client_min_messages = warning; DROP FOREIGN TABLE {writer.table.name} CASCADE; DROP TABLE {writer.table.twin};")
    if not ok:
        report(None, False, output)
    return failed


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--queries", type=int, default=300)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--round", type=int)
    options = parser.parse_args()
    ok, output = psql(SUPPORT)
    if not ok:
        print(output)
        print("not ok - support functions")
        return
    print(f"seed {options.seed}")
    rounds = [options.round] if options.round is not None else range((options.queries + 9) // 10)
    for number in rounds:
        run_round(options.seed, number, 10)


main()
sys.exit(0)
