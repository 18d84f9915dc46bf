# test/random/rows.py: random rows and the transactions that write them.
#
# What commits, and in which order, is decided here, so the twin can be written
# independently of the stream: rows of a transaction arrive at its commit, those of
# rolled back transactions and savepoints never.
from datetime import datetime, timedelta

from queries import DAY, HOUR, MINUTE, MS, SECOND, Table

COLUMNS = ["id", "k_int", "k_text", "k_num", "v_small", "v_int", "v_big", "v_num", "v_f", "flag", "iv", "d", "ts"]
TYPES = ["bigint", "int", "text", "numeric", "smallint", "int", "bigint", "numeric(12,3)", "float8", "boolean", "interval", "date", None]

EPOCH = datetime(1970, 1, 1)
FAR = int((datetime(2200, 1, 1) - EPOCH) / timedelta(microseconds=1))    # above max_future, below 2^53: the oracle multiplies intervals
BASES = ["2024-03-31 00:30:00", "2024-10-26 20:00:00", "2018-11-04 02:30:00", "2018-02-18 01:00:00", "2011-12-30 09:00:00",
         "2024-03-10 00:00:00", "1969-12-31 23:50:00", "1970-01-01 00:00:00", "1999-12-31 23:59:30", "1950-06-01 12:00:00", "2038-01-19 03:14:00"]


def moment(us):
    return (EPOCH + timedelta(microseconds=us)).strftime("%Y-%m-%d %H:%M:%S.%f") + "+00"


class Writer:
    """Builds the script that writes the stream, and the twin's contents."""

    def __init__(self, rng, number):
        self.rng = rng
        self.number = number
        self.script = []
        self.arrived = []               # rows and marks in delivery order
        self.prepared = []              # (gid, rows)
        self.pauses = []                # (script so far, arrived so far): what the views show there is looked at
        self.next_id = 1
        self.time_type = rng.choice(["timestamp", "timestamptz"])
        self.late = rng.random() < 0.5
        self.base = int((datetime.fromisoformat(rng.choice(BASES)) - EPOCH) / timedelta(microseconds=1))
        self.step = rng.choice([1 * MS, 100 * MS, SECOND, 13 * SECOND, 10 * MINUTE])
        self.delay = rng.choice([0, self.step * 3, self.step * 20, 5 * SECOND])
        self.count = rng.randint(100, 600)
        self.conditional = rng.random() < 0.25   # only some rows assert a watermark
        # What becomes of event times that are none, or too far in the future. Infinite ones do not pass: expressions refuse them.
        self.bad = {}
        if rng.random() < 0.4:
            self.bad = {"null_time": rng.choice(["drop", "pass", "dead_letter"]), "infinite_time": rng.choice(["drop", "dead_letter"]),
                        "future_time": rng.choice(["drop", "pass", "dead_letter"])}
        asserts = "flag AND NOT passed" if self.conditional else "NOT passed"
        self.table = Table(f"s{number}", f"twin{number}", self.time_type, f"CASE WHEN {asserts} THEN us - {self.delay} END",
                           self.step * self.count,
                           self.base - self.delay * 5 - self.step * 60, self.base + self.step * (self.count + 200),
                           calendars=self.bad.get("future_time") != "pass")

    # ------------------------------------------------------------- definitions

    def definitions(self):
        columns = ", ".join(f"{n} {t or self.time_type}" + (" OPTIONS (event_time 'true')" if n == "ts" else "")
                            for n, t in zip(COLUMNS, TYPES))
        watermark = f"ts - interval '{self.delay} microseconds'"
        if self.conditional:
            watermark = f"CASE WHEN flag THEN {watermark} END"
        quoted = watermark.replace("'", "''")
        plain = ", ".join(f"{n} {t or self.time_type}" for n, t in zip(COLUMNS, TYPES))
        options = "".join(f", {name} '{action}'" for name, action in self.bad.items()) + (", max_future '50 years'" if self.bad else "")
        return (f"CREATE FOREIGN TABLE {self.table.name} ({columns}) SERVER stream_engine OPTIONS (watermark '{quoted}'{options});\n"
                f"CREATE TABLE {self.table.twin} ({plain}, arrival bigint, us bigint, is_mark boolean, passed boolean);\n")

    # -------------------------------------------------------------------- rows

    def row(self):
        rng, i = self.rng, self.next_id
        self.next_id += 1
        maybe = lambda value: None if rng.random() < 0.12 else value
        us = self.base + i * self.step - (rng.randint(0, self.delay) if self.delay else 0)
        if self.late and rng.random() < 0.15:
            us -= rng.randint(0, self.delay * 4 + self.step * 60)
        return [i, maybe(rng.randint(0, 4)), maybe(rng.choice(["a", "b", "B", "ab", "ba", "", "Ää", "long " * 20])),
                maybe(f"{rng.randint(0, 5)}.5"), maybe(rng.randint(-100, 100)), maybe(rng.randint(-100, 100)),
                maybe(rng.randint(-2**40, 2**40)), maybe(f"{rng.randint(-99999, 99999) / 1000:.3f}"),
                # multiples of 1/8: sums are exact in any order
                maybe(rng.randint(-8000, 8000) / 8), maybe(rng.random() < 0.6), maybe(f"{rng.randint(-50, 50)} seconds"),
                maybe(f"2020-01-{rng.randint(1, 28):02d}")] + self.time(us)

    def time(self, us):
        """The event time, or one that is none or too far in the future, and what becomes of the row."""
        rng = self.rng
        if not self.bad or rng.random() < 0.9:
            return [us, "good"]
        wrong = rng.choice(list(self.bad))
        times = {"null_time": None, "infinite_time": rng.choice(["infinity", "-infinity"]), "future_time": FAR + rng.randint(0, 1000) * self.step}
        return [times[wrong], self.bad[wrong]]

    def copy_line(self, row):
        def text(name, value):
            if value is None:
                return "\\N"
            if name == "ts" and not isinstance(value, str):
                return moment(value)
            return str(value)
        return "\t".join(text(n, v) for n, v in zip(COLUMNS, row))

    def values(self, row):
        def literal(name, value):
            if value is None:
                return "NULL"
            if name == "ts" and not isinstance(value, str):
                return f"'{moment(value)}'"
            if isinstance(value, str):
                return f"'{value}'"
            return str(value)
        return "(" + ", ".join(literal(n, v) for n, v in zip(COLUMNS, row)) + ")"

    def write(self, rows):
        if not rows:
            return
        name = self.table.name
        if self.rng.random() < 0.4:
            self.script += [f"COPY {name} FROM STDIN;"] + [self.copy_line(r) for r in rows] + ["\\."]
        else:
            self.script.append(f"INSERT INTO {name} VALUES {', '.join(self.values(r) for r in rows)};")

    # ------------------------------------------------------------ transactions

    def some_rows(self, most=30):
        return [self.row() for _ in range(self.rng.randint(1, most))]

    def mark(self):
        """emit_watermark somewhere that makes no row late unless late rows are wanted."""
        us = self.base + self.next_id * self.step - self.delay
        if self.late:
            us += self.rng.randint(0, self.step * 5)
        self.script.append(f"SELECT stream_engine.emit_watermark('{self.table.name}', '{moment(us)}');")
        return us

    def transaction(self):
        rng, arrived = self.rng, []

        def write():
            rows = self.some_rows()
            # The end of a subtransaction writes its rows to the log at once, where a later rollback must find them.
            written = rng.random() < 0.4
            if written:
                self.script.append("SAVEPOINT written;")
            self.write(rows)
            if written:
                self.script.append("RELEASE written;")
            arrived.extend(rows)
            if not self.open_prepared() and rng.random() < 0.08:
                arrived.append(self.mark())

        kind = rng.random()
        if kind < 0.35:
            write_one = [self.row()]
            self.write(write_one)
            self.arrived += write_one
            return
        self.script.append("BEGIN;")
        write()
        while rng.random() < 0.4:
            self.script.append("SAVEPOINT a;")
            before = len(arrived)
            write()
            if rng.random() < 0.4:
                self.script.append("SAVEPOINT b;")
                inner = len(arrived)
                write()
                if rng.random() < 0.5:
                    self.script.append("ROLLBACK TO b;")
                    del arrived[inner:]
            if rng.random() < 0.4:
                self.script.append("ROLLBACK TO a;")
                del arrived[before:]
            else:
                self.script.append("RELEASE a;")
            if rng.random() < 0.5:
                write()
        end = rng.random()
        if end < 0.12:
            self.script.append("ROLLBACK;")
        elif end < 0.24 and (self.late or self.delay == 0):
            # Delivered when it commits: between come the rows of others, so only where rows may be late.
            gid = f"{self.table.name} {len(self.script)}"
            self.script.append(f"PREPARE TRANSACTION '{gid}';")
            self.prepared.append((gid, arrived))
        else:
            self.script.append("COMMIT;")
            self.arrived += arrived

    def open_prepared(self):
        return bool(self.prepared)

    def finish_prepared(self):
        gid, rows = self.prepared.pop(self.rng.randrange(len(self.prepared)))
        if self.rng.random() < 0.75:
            self.script.append(f"COMMIT PREPARED '{gid}';")
            self.arrived += rows
        else:
            self.script.append(f"ROLLBACK PREPARED '{gid}';")

    def fill(self):
        """All transactions; the input ends with the last."""
        while self.next_id <= self.count:
            self.transaction()
            if self.prepared and self.rng.random() < 0.4:
                self.finish_prepared()
            if self.rng.random() < 0.03 and len(self.pauses) < 3:
                self.pauses.append((len(self.script), len(self.arrived)))
        while self.prepared:
            self.finish_prepared()
        self.script.append(f"SELECT stream_engine.emit_watermark('{self.table.name}', 'infinity');")

    def twin_script(self):
        lines = [f"COPY {self.table.twin} FROM STDIN;"]
        for arrival, item in enumerate(self.arrived, 1):
            if isinstance(item, int):
                lines.append("\t".join(["\\N"] * len(COLUMNS) + [str(arrival), str(item), "t", "f"]))
            elif item[-1] in ("good", "pass"):
                us = "\\N" if item[-2] is None else item[-2]
                lines.append(self.copy_line(item) + f"\t{arrival}\t{us}\tf\t{'t' if item[-1] == 'pass' else 'f'}")
        return "\n".join(lines + ["\\.", f"ANALYZE {self.table.twin};"]) + "\n"

    def left_out_script(self):
        """Shows what is wrong with the counts of rows that were left out; nothing if they are right."""
        gone = {action: sum(isinstance(item, list) and item[-1] == action for item in self.arrived) for action in ("drop", "dead_letter")}
        name = self.table.name
        return (f"SELECT 'dropped rows are ' || n || ', not {gone['drop']}' FROM (SELECT coalesce(sum(rows), 0) AS n "
                f"FROM stream_engine.dropped_rows WHERE stream = '{name}'::regclass) d WHERE n <> {gone['drop']};\n"
                f"SELECT 'dead letters are ' || n || ', not {gone['dead_letter']}' FROM (SELECT count(*) AS n "
                f"FROM stream_engine.dead_letters WHERE stream = '{name}'::regclass AND view IS NULL) d WHERE n <> {gone['dead_letter']};\n")
