# test/random/rows.py: random rows and the transactions that write them.
#
# What commits, and in which order, is decided here, so the twin can be written
# independently of the stream: rows of a transaction arrive at its commit, those of
# rolled back transactions and savepoints never. In most rounds the clock is driven, too: it
# stands still but for ticks between transactions, so what it does to the watermark is decided
# here as well.
from dataclasses import dataclass
from datetime import datetime, timedelta

from queries import Table
from units import DAY, HOUR, MINUTE, MS, SECOND

WRITTEN = ("good", "pass")              # what became of a row: it is in the log
COLUMNS = ["id", "k_int", "k_text", "k_num", "v_small", "v_int", "v_big", "v_num", "v_f", "flag", "iv", "d", "ts"]
TYPES = ["bigint", "int", "text", "numeric", "smallint", "int", "bigint", "numeric(12,3)", "float8", "boolean", "interval", "date", None]

EPOCH = datetime(1970, 1, 1)
Y2000 = int((datetime(2000, 1, 2) - EPOCH) / timedelta(microseconds=1))     # the driven clock is later
FAR = int((datetime(2200, 1, 1) - EPOCH) / timedelta(microseconds=1))    # above max_future, below 2^53: the oracle multiplies intervals
BASES = ["2024-03-31 00:30:00", "2024-10-26 20:00:00", "2018-11-04 02:30:00", "2018-02-18 01:00:00", "2011-12-30 09:00:00",
         "2024-03-10 00:00:00", "1969-12-31 23:50:00", "1970-01-01 00:00:00", "1999-12-31 23:59:30", "1950-06-01 12:00:00", "2038-01-19 03:14:00"]


def moment(us):
    return (EPOCH + timedelta(microseconds=us)).strftime("%Y-%m-%d %H:%M:%S.%f") + "+00"


@dataclass
class Mark:
    """emit_watermark: what it says, and the time of the driven clock."""
    us: int
    clock: int | None


@dataclass
class Tick:
    clock: int


def is_life(item):
    """Is it in the log, and shows that the stream is not idle?"""
    return isinstance(item, Mark) or isinstance(item, list) and item[-1] in WRITTEN


class Writer:
    """Builds the script that writes the stream, and the twin's contents."""

    def __init__(self, rng, number):
        self.rng = rng
        self.number = number
        self.script = []
        self.arrived = []               # rows, marks and ticks in delivery order
        self.prepared = []              # (gid, rows)
        self.pauses = []                # (script so far, arrived so far): what the views show there is looked at; the last: before the end of the input
        self.alter = lambda place, paused: []       # statements that alter views, at a place or where views were just looked at
        self.ended = False              # all rows have been written
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
        self.choose_clock()
        last = self.base + self.step * (self.count + 200) + self.pauses_left
        self.table = Table(f"s{number}", f"twin{number}", self.time_type, self.step * self.count, self.step,
                           self.base - self.delay * 5 - self.step * 60, last + (self.max_future + self.lag + 300 * self.step if self.max_future else 0),
                           calendars=self.bad.get("future_time") != "pass", ticks=self.clock is not None)
        # The same rows by the time of their commits, for windows over proctime().
        self.by_clock = None
        if self.clock is not None:
            self.by_clock = Table(f"s{number}", f"twin{number}_by_clock", "timestamptz", self.step * self.count, self.step, self.clock - MINUTE, last + self.lag + self.step * 300,
                                  time="proctime()", ticks=True)

    def choose_clock(self):
        """Whether the clock is driven, how far it is ahead of event time, and which of the stream's options go by it."""
        rng = self.rng
        self.clock = self.max_delay = self.idle_timeout = self.idle_action = self.max_future = None
        self.lag = 0
        self.pauses_left = 0                # how much longer than their rows make them silences may be, in all
        self.shift = 0                      # how long they have been
        self.alive = None                   # when a row or a mark was last delivered
        if self.base < Y2000 or rng.random() < 0.2:
            return
        self.lag = rng.choice([0, self.step * 3, self.delay, self.delay + self.step * rng.randint(1, 30)])
        self.clock = self.base + self.lag
        self.pauses_left = self.step * self.count // 2
        if rng.random() < 0.5:
            self.max_delay = rng.choice([0, self.lag + self.delay, self.lag + self.delay + self.step * rng.randint(0, 40), self.lag // 2 // MS * MS])
        if rng.random() < 0.5:
            self.idle_timeout = self.step * rng.randint(1, 40)
            self.idle_action = rng.choice(["advance", "advance", "exclude", None])
        if self.bad and rng.random() < 0.6:
            self.max_future = self.step * rng.randint(1, 60) + self.delay

    # ------------------------------------------------------------- definitions

    def definitions(self):
        columns = ", ".join(f"{n} {t or self.time_type}" + (" OPTIONS (event_time 'true')" if n == "ts" else "")
                            for n, t in zip(COLUMNS, TYPES))
        watermark = f"ts - interval '{self.delay} microseconds'"
        if self.conditional:
            watermark = f"CASE WHEN flag THEN {watermark} END"
        quoted = watermark.replace("'", "''")
        plain = ", ".join(f"{n} {t or self.time_type}" for n, t in zip(COLUMNS, TYPES))
        options = "".join(f", {name} '{action}'" for name, action in self.bad.items())
        if self.bad:
            options += f", max_future '{self.max_future} us'" if self.max_future else ", max_future '50 years'"
        options += "".join(f", {name} '{length} us'" for name, length in (("max_delay", self.max_delay), ("idle_timeout", self.idle_timeout)) if length is not None)
        if self.idle_action:
            options += f", idle_action '{self.idle_action}'"
        by_clock = f"{self.by_clock_view()};\n" if self.clock is not None else ""
        return (f"CREATE FOREIGN TABLE {self.table.name} ({columns}) SERVER stream_engine OPTIONS (watermark '{quoted}'{options});\n"
                f"CREATE TABLE {self.table.twin} ({plain}, arrival bigint, us bigint, is_mark boolean, passed boolean, "
                f"said bigint, clock bigint, is_tick boolean);\n{by_clock}")

    def by_clock_view(self, temporary=""):
        """The twin by the time of commits: nothing is late there, for each row comes when it is that time."""
        return (f"CREATE {temporary} VIEW {self.table.twin}_by_clock AS SELECT {', '.join(COLUMNS)}, arrival, clock AS us, is_mark, false AS passed, "
                f"clock AS said, clock, is_tick FROM {self.table.twin}")

    # -------------------------------------------------------------------- rows

    def row(self):
        rng, i = self.rng, self.next_id
        self.next_id += 1
        maybe = lambda value: None if rng.random() < 0.12 else value
        us = self.base + self.shift + i * self.step - (rng.randint(0, self.delay) if self.delay else 0)
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
        if not self.bad:
            return [us, "good"]
        limit = self.clock + self.max_future if self.max_future else FAR - 1
        if rng.random() < 0.9:
            return [us, "good" if us <= limit else self.bad["future_time"]]
        wrong = rng.choice(list(self.bad))
        future = FAR + rng.randint(0, 1000) * self.step
        if self.max_future and rng.random() < 0.7:
            future = limit + rng.choice([1, 1, self.step, 0 if self.late else 1])
        times = {"null_time": None, "infinite_time": rng.choice(["infinity", "-infinity"]), "future_time": future}
        return [times[wrong], "good" if wrong == "future_time" and future <= limit else self.bad[wrong]]

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
        us = self.base + self.shift + self.next_id * self.step - self.delay
        if self.late:
            us += self.rng.randint(0, self.step * 5)
        if self.max_future:
            us = min(us, self.clock + self.max_future)
        self.script.append(f"SELECT stream_engine.emit_watermark('{self.table.name}', '{moment(us)}');")
        return Mark(us, self.clock)

    def tick(self):
        """The clock goes on, mostly as rows do, now and then by a silence. Where that makes the stream idle a view has said by then when it last showed life."""
        rng = self.rng
        silences = rng.choice([0, 0, 0, 1, 1, 3])
        if self.clock - (self.base + self.shift + self.next_id * self.step + self.lag) > 60 * self.step:
            silences = 0
        to = self.base + self.shift + self.next_id * self.step + self.lag + rng.randint(-2, 6) * self.step
        for i in range(silences + 1):
            to = max(self.clock + MS, to)
            if self.idle_timeout is not None and to - self.alive >= self.idle_timeout:
                self.script.append(f"REFRESH MATERIALIZED VIEW v{self.number}_1;")
            self.move_clock(to)
            if i < silences:
                to = self.clock + rng.choice([self.step, self.step * rng.randint(1, 50), self.idle_timeout or self.step])
        # Rows that come later go on from where the clock stands, or stay behind it for good.
        behind = self.clock - (self.base + self.shift + self.next_id * self.step + self.lag)
        if behind > 0 and rng.random() < 0.7:
            self.shift += min(behind, self.pauses_left)
            self.pauses_left -= min(behind, self.pauses_left)

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
        if kind < 0.39:
            # The place among the rows of the transaction counts.
            self.script.append("BEGIN;")
            for part in range(2):
                rows = self.some_rows()
                self.write(rows)
                self.arrived += rows
                if part == 0:
                    self.script += self.alter(len(self.arrived), False)
            self.script.append("COMMIT;")
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

    def deliver(self):
        before = len(self.arrived)
        self.transaction()
        if self.prepared and self.rng.random() < 0.4:
            self.finish_prepared()
        for item in self.arrived[before:]:
            if is_life(item):
                self.alive = max(filter(None, (self.alive, item.clock if isinstance(item, Mark) else self.clock)), default=None)

    def backlog(self):
        """Workers stand still meanwhile: who looks whether the stream is idle does not know of its last rows, and is not to be believed."""
        self.script.append("SELECT stream_engine.test_fault_set('round-begin', 'wait');")
        for _ in range(self.rng.randint(1, 2)):
            self.deliver()
            to = self.clock + self.step * self.rng.randint(1, 20)
            if self.idle_timeout is not None:
                to = min(to, self.alive + self.idle_timeout - MS)
            if to > self.clock:
                self.move_clock(to)
        self.script.append("SELECT stream_engine.test_fault_clear('round-begin');")

    def move_clock(self, to):
        self.clock = to
        self.script.append(f"SELECT stream_engine.test_tick('{moment(to)}');")
        self.arrived.append(Tick(to))

    def fill(self):
        """All transactions; the input ends with the last, and then the clock passes all windows over it."""
        if self.clock is not None:
            self.move_clock(self.clock + MS)
        while self.next_id <= self.count:
            if self.alive is not None and self.rng.random() < 0.08:
                self.backlog()
            self.deliver()
            if self.alive is not None and self.rng.random() < 0.25:
                self.tick()
            if self.rng.random() < 0.04 and len(self.pauses) < 3:
                self.pause()
            elif self.rng.random() < 0.06:
                self.script += self.alter(len(self.arrived), False)
        while self.prepared:
            self.finish_prepared()
        self.ended = True
        self.pause()
        self.script.append(f"SELECT stream_engine.emit_watermark('{self.table.name}', 'infinity');")
        if self.clock is not None:
            self.move_clock(self.clock + 2 * max(self.table.span, self.clock - self.base, HOUR) + 800 * DAY)

    def pause(self):
        self.pauses.append((len(self.script), len(self.arrived)))
        self.script += self.alter(len(self.arrived), True)

    def said(self):
        """
        What each item says about the watermark, and processing time by then. At a tick the watermark is at least that far behind the clock;
        and at one so long after the last sign of life, of an idle stream whose watermark goes on, as far ahead of what it was as the clock of what it was then.
        """
        clock = alive = h_alive = h = None
        idle = False
        above = lambda *values: max((v for v in values if v is not None), default=None)
        for place, item in enumerate(self.arrived, 1):
            says = None
            if isinstance(item, Tick):
                clock = item.clock
                if place <= self.pauses[-1][1]:     # the input has not ended
                    if self.idle_timeout is not None and alive is not None and clock - alive >= self.idle_timeout:
                        idle = True
                        if self.idle_action == "advance" and h_alive is not None:
                            says = h_alive + clock - alive
                    if self.max_delay is not None:
                        says = above(says, clock - self.max_delay)
            elif isinstance(item, Mark):
                says = item.us
            elif item[-1] == "good" and (not self.conditional or item[COLUMNS.index("flag")]):
                says = item[-2] - self.delay
            h = above(h, says)
            if is_life(item):
                alive, h_alive, idle = above(alive, item.clock if isinstance(item, Mark) else clock), h, False
            yield place, item, says, clock, h, idle

    def stands(self, arrived):
        """(watermark, idle) after so many arrivals."""
        at = (None, False)
        for place, _, _, _, h, idle in self.said():
            if place <= arrived:
                at = (h, idle)
        return at

    def twin_script(self):
        null = lambda value: "\\N" if value is None else str(value)
        lines = [f"COPY {self.table.twin} FROM STDIN;"]
        for arrival, item, says, clock, _, _ in self.said():
            tail = f"\t{null(says)}\t{null(clock)}\t{'t' if isinstance(item, Tick) else 'f'}"
            if not isinstance(item, list):
                lines.append("\t".join(["\\N"] * len(COLUMNS) + [str(arrival), null(says), "t", "f"]) + tail)
            elif item[-1] in WRITTEN:
                us = null(item[-2])
                lines.append(self.copy_line(item) + f"\t{arrival}\t{us}\tf\t{'t' if item[-1] == 'pass' else 'f'}" + tail)
        return "\n".join(lines + ["\\.", f"ANALYZE {self.table.twin};"]) + "\n"

    def left_out_script(self):
        """Shows what is wrong with the counts of rows that were left out; nothing if they are right."""
        gone = {action: sum(isinstance(item, list) and item[-1] == action for item in self.arrived) for action in ("drop", "dead_letter")}
        name = self.table.name
        return (f"SELECT 'dropped rows are ' || n || ', not {gone['drop']}' FROM (SELECT coalesce(sum(rows), 0) AS n "
                f"FROM stream_engine.dropped_rows WHERE stream = '{name}'::regclass) d WHERE n <> {gone['drop']};\n"
                f"SELECT 'dead letters are ' || n || ', not {gone['dead_letter']}' FROM (SELECT count(*) AS n "
                f"FROM stream_engine.dead_letters WHERE stream = '{name}'::regclass AND view IS NULL) d WHERE n <> {gone['dead_letter']};\n")
