#!/usr/bin/env python3
# test/mutants/scenario.py: one life of five views, with restarts, compared with the heap at every rest.
#
#   scenario.py DATA_DIRECTORY [MUTANT]
#
# Prints the names of the checks that failed, one a line; nothing when all is right.
# DATA_DIRECTORY is a fresh cluster, not running. The mutant is armed for the server's
# whole life, through its environment. The script waits by REFRESH alone.
import os
import signal
import subprocess
import sys
import time

data, mutant = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else None
environment = dict(os.environ, PGHOST=data, PGPORT="5432", PGUSER="postgres", PGDATABASE="postgres")
if mutant:
    environment["SE_FAULTS"] = f"{mutant}:skip"
failed = []


def note(text):
    print(f"# {text}", file=sys.stderr)


def psql(script, check=True):
    done = subprocess.run(["psql", "-XqAt", "-v", "ON_ERROR_STOP=1", "-f", "-"], input=script, text=True,
                          capture_output=True, env=environment, timeout=120)
    if done.returncode and check:
        raise RuntimeError(done.stderr.strip())
    return done.stdout.strip()


def start():
    subprocess.run(["pg_ctl", "-D", data, "-w", "-s", "-l", f"{data}.log", "start"], check=True, env=environment)


def running(pid):
    try:
        return ") Z " not in open(f"/proc/{pid}/stat").read()
    except OSError:
        return False


def kill9():
    """The postmaster, and wait until its children are gone too."""
    pid = int(open(f"{data}/postmaster.pid").readline())
    children = []
    for process in filter(str.isdigit, os.listdir("/proc")):
        try:
            if open(f"/proc/{process}/stat").read().rsplit(")", 1)[1].split()[1] == str(pid):
                children.append(process)
        except OSError:
            pass                # gone meanwhile
    os.kill(pid, signal.SIGKILL)
    for child in [str(pid)] + children:
        while running(child):
            time.sleep(0.01)
    while os.path.exists(f"/proc/{pid}"):   # a new postmaster minds even a dead one
        time.sleep(0.01)


VIEWS = {
    "filter": "SELECT id, k, v FROM {s} WHERE v >= 0",
    "group": "SELECT k, count(*) AS n, sum(v) AS total FROM {s} GROUP BY k",
    "arrival": "SELECT k, array_agg(id) AS ids FROM {s} GROUP BY k",
    "tumble": "SELECT window_start, window_end, k, count(*) AS n, sum(v) AS total FROM {s}, tumble(ts, interval '10 seconds') "
              "GROUP BY window_start, window_end, k",
    "hop": "SELECT window_start, k, count(*) AS n, max(v) AS top FROM {s}, hop(ts, interval '2 seconds', interval '10 seconds') "
           "GROUP BY window_start, window_end, k",
}

# Each row once per window it is not late for; `now` is the watermark at the end, NULL before the first row.
JUDGED = """
CREATE VIEW judged AS
  SELECT *, max(CASE WHEN k = -1 AND v = -1 THEN ts ELSE ts - interval '2 seconds' END)
    OVER (ORDER BY arrival ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS wm FROM twin;
CREATE VIEW watermark AS
  SELECT max(CASE WHEN k = -1 AND v = -1 THEN ts ELSE ts - interval '2 seconds' END) AS h FROM twin;
"""
ORACLES = {
    "filter": "SELECT id, k, v FROM twin WHERE v >= 0 AND id > 0",
    "group": "SELECT k, count(*) AS n, sum(v) AS total FROM twin WHERE id > 0 GROUP BY k",
    "arrival": "SELECT k, array_agg(id ORDER BY arrival) AS ids FROM twin WHERE id > 0 GROUP BY k",
    "tumble": "SELECT w, w + interval '10 seconds' AS e, k, count(*), sum(v) FROM judged, date_bin('10 seconds', ts, '2024-01-01') w "
              "WHERE id > 0 AND (wm IS NULL OR w + interval '10 seconds' > wm) AND w + interval '10 seconds' <= (SELECT h FROM watermark) GROUP BY w, k",
    "hop": "SELECT w, k, count(*), max(v) FROM judged, generate_series(date_bin('2 seconds', ts, '2024-01-01'), "
           "ts - interval '10 seconds' + interval '1 microsecond', interval '-2 seconds') w "
           "WHERE id > 0 AND (wm IS NULL OR w + interval '10 seconds' > wm) AND w + interval '10 seconds' <= (SELECT h FROM watermark) GROUP BY w, k",
}

next_id = 1
arrivals = 0


def row(second, k, v):
    global next_id
    next_id += 1
    return (next_id - 1, "NULL" if k is None else k, v, f"'2024-01-01'::timestamptz + interval '{second} seconds'")


def into_stream(rows):
    return "INSERT INTO s VALUES " + ", ".join(f"({i}, {k}, {v}, {ts})" for i, k, v, ts in rows) + ";\n"


def into_twin(rows):
    """The twin is written apart, after the fact, in delivery order."""
    global arrivals
    values = []
    for i, k, v, ts in rows:
        arrivals += 1
        values.append(f"({i}, {k}, {v}, {ts}, {arrivals})")
    psql("INSERT INTO twin VALUES " + ", ".join(values) + ";")


def write(rows):
    psql(into_stream(rows))
    into_twin(rows)


def batch(first, last, spread=4):
    """Rows of these seconds, keys with NULL among them, times out of order and some of them late."""
    rows = []
    for second in range(first, last):
        for i in range(3):
            early = (second * 7 + i * 5) % spread
            if (second + i) % 11 == 0:
                early += 13
            rows.append(row(max(0, second - early), [1, 2, None][(second + i) % 3], (second * 31 + i * 17) % 100 - 20))
    return rows


def compare(when):
    for name, oracle in ORACLES.items():
        try:
            psql(f"SET statement_timeout = '20s'; REFRESH MATERIALIZED VIEW v_{name};")
        except RuntimeError as error:
            note(f"{when}: {name}: {error}")
            failed.append("alive")
            failed.append(name)
            continue
        if name in ("tumble", "hop"):
            wrong = psql(f"SELECT count(*) FROM v_{name} WHERE window_start + interval '10 seconds' > (SELECT h FROM watermark)")
            if wrong != "0":
                note(f"{when}: {name} shows {wrong} rows of open windows")
                failed.append("open-windows")
        difference = psql(f"WITH v AS (SELECT t::text FROM v_{name} t), q AS (SELECT t::text FROM ({oracle}) t) "
                          "(SELECT 'only in view ' || t FROM (SELECT * FROM v EXCEPT ALL SELECT * FROM q) t UNION ALL "
                          "SELECT 'missing ' || t FROM (SELECT * FROM q EXCEPT ALL SELECT * FROM v) t) LIMIT 3")
        if difference:
            note(f"{when}: {name}: {difference}")
            failed.append(name)


def create():
    psql("""CREATE EXTENSION stream_engine;
        CREATE FOREIGN TABLE s (id int, k int, v int, ts timestamptz OPTIONS (event_time 'true'))
            SERVER stream_engine OPTIONS (watermark 'ts - interval ''2 seconds''');
        CREATE TABLE twin (id int, k int, v int, ts timestamptz, arrival int);
        """ + JUDGED + open(os.environ["SE_TREE"] + "/test/lib/test_support.sql").read())
    for name, query in VIEWS.items():
        psql(f"CREATE MATERIALIZED VIEW v_{name} WITH (stream_engine.continuous) AS {query.format(s='s')};")


def fault(name, action, times=-1):
    psql(f"SELECT stream_engine.test_fault_set('{name}', '{action}', 0, {times})")


def no_fault(*names):
    """These only: the mutant is one too."""
    for name in names:
        psql(f"SELECT stream_engine.test_fault_clear('{name}')")


def transactions():
    """Savepoints kept and dropped, a rollback, and two transactions that commit in the other order; read as a backlog."""
    fault("round-begin", "wait")
    kept, dropped, later = batch(40, 44), batch(44, 46), batch(46, 48)
    psql("BEGIN;" + into_stream(kept) + "SAVEPOINT a; SAVEPOINT written;" + into_stream(dropped) + "RELEASE written; ROLLBACK TO a;" + into_stream(later) + "COMMIT;")
    into_twin(kept + later)
    psql("BEGIN;" + into_stream(batch(48, 50)) + "ROLLBACK;")
    slow, quick = batch(50, 53), batch(53, 56)
    psql("BEGIN;" + into_stream(slow) + "PREPARE TRANSACTION 'slow';")
    write(quick)
    psql("COMMIT PREPARED 'slow'")
    into_twin(slow)
    no_fault("round-begin")


def big_firing():
    """One window of more groups than a batch takes, while every batch of results asks for a commit."""
    fault("sink-always-full", "skip")
    write([row(60 + i % 4, 1000 + i, i % 90) for i in range(1500)])
    compare("with many groups open")
    write([row(75, 1, 1), row(76, 2, 2)])
    compare("after many groups were fired")
    no_fault("sink-always-full")


def dies_after_a_commit():
    """A backlog of which a part is committed when the worker dies."""
    psql("SELECT stream_engine.test_fault_set('round-begin', 'wait', 0, -1)")
    for i in range(4):
        write([row(76 + i % 3, i % 3, (i * 37 + j) % 90) for j in range(600)])
    psql("SELECT stream_engine.test_fault_set('sink-always-full', 'skip'), stream_engine.test_fault_set('commit-done', 'fatal', 0, 5), "
         "stream_engine.test_fault_clear('round-begin')")
    compare("after the worker died behind a commit")
    no_fault("sink-always-full", "commit-done")


def invisible():
    """A transaction that is durable but that nobody can see yet: no view may show it."""
    psql("ALTER SYSTEM SET synchronous_standby_names = 'nobody'; ")
    psql("SELECT pg_reload_conf()")
    hidden = [row(79, 1, 50)]
    waiting = subprocess.Popen(["psql", "-XqAt", "-c", "SET synchronous_commit = on", "-c", "SET application_name = 'hidden'",
                                "-c", into_stream(hidden)], env=environment, stderr=subprocess.DEVNULL)
    while psql("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'hidden' AND wait_event = 'SyncRep'") != "1":
        time.sleep(0.02)
    # Its own session wakes no worker yet; this one does.
    behind = [row(80, 2, 51)]
    psql(into_stream(behind))
    # Looked at for a while: a mutant shows it at once; a right engine never does.
    for _ in range(20):
        if psql(f"SELECT count(*) FROM v_filter WHERE id = {hidden[0][0]}") != "0":
            note("a row was shown before its transaction was visible")
            failed.append("invisible")
            break
        time.sleep(0.05)
    psql("SET synchronous_commit = local; ALTER SYSTEM RESET synchronous_standby_names;")
    psql("SELECT pg_reload_conf()")
    waiting.wait(30)
    into_twin(hidden + behind)


open_rows = []


def open_writer():
    """A writer stays open while the WAL it began in is all that may be recycled."""
    open_rows.extend(batch(92, 95))
    psql("BEGIN;" + into_stream(open_rows) + "PREPARE TRANSACTION 'open';")
    place = psql("SELECT pg_current_wal_insert_lsn()")
    for second in range(95, 99):
        write(batch(second, second + 1))
        psql("SELECT pg_switch_wal()")
    compare("before the crash")
    # A new coordinator looks after the slot at once. Looked at for a while: a right one leaves it where the writer began.
    psql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'stream_engine coordinator'")
    for _ in range(20):
        if psql(f"SELECT restart_lsn > '{place}' FROM pg_replication_slots") == "t":
            note("the slot moved past an open writer")
            failed.append("slot")
            break
        time.sleep(0.1)
    psql("CHECKPOINT")


def main():
    with open(f"{data}/postgresql.conf", "a") as conf:
        conf.write("stream_engine.checkpoint_interval = '20ms'\nwal_keep_size = 0\nmin_wal_size = '32MB'\nmax_wal_size = '64MB'\n"
                   "synchronous_commit = local\n")
    start()
    create()
    for first in range(0, 40, 8):
        write(batch(first, first + 8))
    compare("first rest")
    transactions()
    compare("after transactions")
    big_firing()
    dies_after_a_commit()
    invisible()
    compare("after the invisible one")
    # All workers go; what they had committed is where they begin again.
    psql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type LIKE 'stream_engine%task%'")
    write(batch(84, 92))
    compare("after the workers were terminated")
    open_writer()
    write(batch(99, 101))
    kill9()
    start()
    psql("COMMIT PREPARED 'open'")
    into_twin(open_rows)
    write(batch(101, 110))
    compare("after the crash")
    # A mark between the rows: what comes behind it with earlier times is late.
    mark = (-1, -1, -1, "'2024-01-01'::timestamptz + interval '200 seconds'")
    before, behind = batch(110, 114), batch(114, 119)
    psql("BEGIN;" + into_stream(before) + f"SELECT stream_engine.emit_watermark('s', {mark[3]});" + into_stream(behind) + "COMMIT;")
    into_twin(before + [mark] + behind)
    write(batch(230, 240))
    compare("after a watermark mark")
    subprocess.run(["pg_ctl", "-D", data, "-w", "-s", "-m", "fast", "stop"], check=True, env=environment)


try:
    main()
except Exception as error:      # whatever the wrong led to, the scenario was not green
    note(f"ended early: {error}")
    failed.append("alive")
for name in sorted(set(failed)):
    print(name)
