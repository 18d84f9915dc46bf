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
-- until the watermark less the lateness that is allowed, `horizon`, is above its end. `input` gives
-- arrival, key, us, gap_us and the horizon before the row, of the rows that count.
CREATE FUNCTION random_sessions(input text) RETURNS TABLE (arrival bigint, ws bigint, we bigint) LANGUAGE plpgsql
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
        DELETE FROM open_sessions o WHERE o.we < r.horizon;
        IF r.us IS NULL OR r.gap_us IS NULL THEN CONTINUE; END IF;
        SELECT min(o.ws) AS ws, max(o.we) AS we, array_agg(o.id) AS ids INTO joined FROM open_sessions o
            WHERE o.key = r.key AND o.ws <= r.us + r.gap_us AND o.we >= r.us;
        IF joined.ids IS NULL AND r.us + r.gap_us < r.horizon THEN
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


def differences(view, oracle, part=""):
    """SQL that shows rows only one side has; nothing if they are equal. `part`: a condition on rows of the view."""
    where = f" WHERE {part}" if part else ""
    return (f"WITH v AS (SELECT t::text AS r FROM {view} t{where}), q AS (SELECT t::text AS r FROM ({oracle}) t) "
            f"SELECT 'only in the view: ' || r FROM (SELECT r FROM v EXCEPT ALL SELECT r FROM q) d "
            f"UNION ALL SELECT 'missing in the view: ' || r FROM (SELECT r FROM q EXCEPT ALL SELECT r FROM v) d LIMIT 10;\n")


def late_differences(view, query):
    return (f"SELECT 'late rows and pairs are ' || p.late_rows || ', ' || p.late_pairs || ', not ' || q.a || ', ' || q.b "
            f"FROM stream_engine.job_positions p, ({query.late}) q(a, b) WHERE p.job = '{view}'::regclass AND (p.late_rows, p.late_pairs) <> (q.a, q.b);\n")


def late_output_differences(view, query, twin):
    return (f"WITH l AS (SELECT id, k_text FROM late_{view}), q AS (SELECT id, k_text FROM {twin} WHERE arrival IN ({query.late_arrivals})) "
            f"SELECT 'late by mistake: ' || d::text FROM (SELECT * FROM l EXCEPT ALL SELECT * FROM q) d "
            f"UNION ALL SELECT 'not in late_output: ' || d::text FROM (SELECT * FROM q EXCEPT ALL SELECT * FROM l) d LIMIT 10;\n")


def error_differences(view, query):
    """Rows left out are counted, and dead letters are as many."""
    letters = "p.error_rows" if "dead_letter" in query.options else "0"
    return (f"SELECT 'rows left out are ' || p.error_rows || ' with ' || l.n || ' letters, not ' || q.least || ' to ' || q.most "
            f"FROM stream_engine.job_positions p, ({query.errors}) q(least, most), "
            f"(SELECT count(*) AS n FROM stream_engine.dead_letters WHERE view = '{view}'::regclass) l "
            f"WHERE p.job = '{view}'::regclass AND (p.error_rows NOT BETWEEN q.least AND q.most OR l.n <> {letters});\n")


def stand_differences(view, query, writer, arrived):
    """How far the view says its stream is: the watermark, and whether the stream is idle."""
    if query.by_clock:
        return ""
    watermark, idle = writer.stands(arrived)
    should = "NULL" if watermark is None else f"timestamptz '{rows.moment(watermark)}'"
    return (f"SELECT 'stands at ' || coalesce(watermark::text, 'none') || ' idle ' || (idle IS TRUE) || ', not ' || coalesce(({should})::text, 'none') || ' idle {idle}' "
            f"FROM stream_engine.sources WHERE view = '{view}'::regclass AND (watermark IS DISTINCT FROM {should} OR (idle IS TRUE) <> {idle});\n")


class Round:
    """A stream, its rows, and views over it."""

    def __init__(self, seed, number, count):
        self.seed, self.number = seed, number
        self.rng = random.Random(f"{seed}/{number}")
        self.writer = rows.Writer(self.rng, number)
        clock = self.writer.by_clock
        # Somebody needs the clock, and somebody says when the stream last showed life.
        wanted = ["by clock", "by event time"] + [None] * (count - 2)
        self.chosen = [queries.choose(self.rng, self.writer.table, clock, wanted[i]) for i in range(count)]
        self.good = []                  # the views that are right so far
        self.epochs = []                # at each pause how many epochs each view has had
        self.failed = 0

    def view(self, i):
        return f"v{self.number}_{i}"

    def report(self, i, ok, detail=""):
        kind = f"{self.chosen[i].kind}{' late' if self.writer.late else ''}" if i is not None else ""
        if not ok:
            self.failed += 1
            if i is not None:
                print(f"view:   {self.chosen[i].view}{self.chosen[i].options}\noracle: {self.chosen[i].oracle}\nnow:    {self.chosen[i].now}")
                if i in self.good:
                    self.good.remove(i)
            print(f"{detail.strip()}\nrepeat with: make check-random SEED={self.seed} ROUND={self.number}")
        print(f"{'ok' if ok else 'not ok'} - round {self.number} view {i} {kind}", flush=True)

    def create(self):
        rng, writer = self.rng, self.writer
        clock = f"'{rows.moment(writer.clock)}'" if writer.clock is not None else "NULL"
        ok, output = psql(f"ALTER SYSTEM SET stream_engine.batch_rows = {rng.choice([1, 3, 64, 512, 512])};\n"
                          f"ALTER SYSTEM SET stream_engine.checkpoint_interval = '{rng.choice([1, 20, 200])}ms';\nSELECT pg_reload_conf();\n"
                          f"SELECT stream_engine.test_clock_set({clock});\n")
        ok, output = psql(writer.definitions())
        if not ok:
            self.report(None, False, output)
            return False
        for i, query in enumerate(self.chosen):
            if query.late_arrivals:
                query.options += f", stream_engine.late_output = 'public.late_{self.view(i)}'"
            ok, output = psql(f"SET client_min_messages = warning;\nCREATE MATERIALIZED VIEW {self.view(i)} WITH (stream_engine.continuous{query.options}) AS {query.view};\n")
            if ok:
                self.good.append(i)
            else:
                self.report(i, False, output)
        return True

    def checks(self, i, arrived):
        """SQL that prints what is wrong with a view, after so many arrivals or, if None, at the end of the input."""
        query, view = self.chosen[i], self.view(i)
        script = "SET timezone = 'UTC'; SET statement_timeout = '60s'; SET client_min_messages = warning;\n"
        if arrived is None:
            script += differences(view, query.oracle)
        elif query.now is not None:
            script += differences(view, query.now, query.part)
        if query.late:
            script += late_differences(view, query)
        if query.late_arrivals:
            script += late_output_differences(view, query, self.writer.table.twin)
        if query.errors:
            script += error_differences(view, query)
        if arrived is not None:
            script += stand_differences(view, query, self.writer, arrived)
        return script

    def prefix(self, arrived):
        """The twin as it was then, in the place of the whole one."""
        if arrived is None:
            return "SET client_min_messages = warning;\n"
        twin = self.writer.table.twin
        return (f"SET client_min_messages = warning;\nCREATE TEMP TABLE {twin} AS SELECT * FROM public.{twin} WHERE arrival <= {arrived};\nANALYZE pg_temp.{twin};\n"
                + (f"{self.writer.by_clock_view('TEMP')};\n" if self.writer.clock is not None else ""))

    def compare(self, arrived):
        """Each view with its oracle: all in one session, and those that are wrong alone."""
        refresh = lambda i: f"SET statement_timeout = '60s';\nREFRESH MATERIALIZED VIEW {self.view(i)};\n"
        ok, output = psql(self.prefix(arrived) + "".join(refresh(i) + self.checks(i, arrived) for i in self.good))
        if ok and output == "":
            return
        for i in list(self.good):
            # No result waits until rows that are too old are deleted: some commits may be needed.
            for attempt in range(100):
                ok, output = psql(self.prefix(arrived) + refresh(i) + self.checks(i, arrived))
                if not (ok and output != "" and "stream_engine.retention" in self.chosen[i].options and "missing" not in output):
                    break
            if not ok or output != "":
                self.report(i, False, f"after {arrived} arrivals: {output}" if arrived is not None else output)

    def alter(self, arrived, paused):
        """Statements that change when results come; how long they are kept only where nothing that is too old is left, at a pause."""
        if paused:
            self.epochs.append([len(query.epochs) for query in self.chosen])
        statements = []
        if self.writer.ended:           # what is too old would not be deleted any more
            return statements
        for i, query in enumerate(self.chosen):
            change = query.alter(self.rng, query, paused) if query.alter and self.rng.random() < (0.3 if paused else 0.15) else None
            if change is not None:
                query.altered(change[0], arrived, change[1])
                statements.append(f"ALTER MATERIALIZED VIEW {self.view(i)} {change[1]};")
        return statements

    def run(self):
        writer = self.writer
        if not self.create():
            return
        writer.alter = self.alter
        writer.fill()
        ok, output = psql(writer.twin_script())
        at = 0
        for number, (script_end, arrived) in enumerate(writer.pauses + [(len(writer.script), None)]):
            if ok:
                ok, output = psql("\n".join(["SET statement_timeout = '60s';"] + writer.script[at:script_end]) + "\n")
                output = "" if ok else output
            at = script_end
            if not ok:
                break
            for i in self.good:
                self.chosen[i].as_of(self.epochs[number][i] if arrived is not None else None)
            self.compare(arrived)
        if not ok:
            self.report(None, False, output)
        for i in list(self.good):
            self.report(i, True)
        ok, output = psql(writer.left_out_script())
        if not ok or output != "":
            self.report(None, False, output)
        ok, output = psql(f"SET client_min_messages = warning; DROP FOREIGN TABLE {writer.table.name} CASCADE; DROP TABLE {writer.table.twin} CASCADE;")
        if not ok:
            self.report(None, False, output)


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
        Round(options.seed, number, 10).run()
    psql("SELECT stream_engine.test_clock_set(NULL);")


main()
sys.exit(0)
