# test/random/queries.py: random queries of the supported surface, each as the view's text and as the oracle's.
#
# A query over the stream and the same question asked of the heap twin. The twin has
# the stream's columns and
#     arrival   the row's place in delivery order, from 1
#     us        the event time as microseconds since 1970, exact
#     is_mark   true: not a row but emit_watermark(us), or a tick of the clock
#     passed    its time is none (us is NULL) or far in the future: it says nothing about the watermark
#     said      what it says about the watermark, NULL = nothing; a tick by the stream's max_delay and idle_timeout (rows.py)
#     clock     where the clock is driven: the time of its commit
# The oracle shares no code with the engine: windows are integer arithmetic on us, or
# listed one by one if they are of a time zone (calendars.py), the watermark is a
# running maximum by arrival, and what is late is one comparison. What results show before
# they are final is in emissions.py.
from dataclasses import dataclass, field, replace

import calendars
import emissions
from emissions import Epoch, judged, moment
from units import DAY, MINUTE, MS, SECOND


@dataclass
class Query:
    view: str                       # SELECT over the stream
    oracle: str                     # SELECT over the twin, when the input has ended
    late: str | None = None         # over the twin: late rows, late pairs
    kind: str = ""
    options: str = ""               # of the view, beside continuous
    late_arrivals: str | None = None    # over the twin: arrival of each row that is late for all its windows; kept by the option late_output
    now: str | None = None          # the oracle before the input has ended; None: what is shown then depends on commits
    part: str = ""                  # a condition on rows of the view: these alone equal `now`
    errors: str | None = None       # over the twin: how many rows raise an error, at least and at most
    by_clock: bool = False          # the watermark is processing time
    epochs: list = field(default_factory=list)      # options that decide when results come, from which place on
    render: object = None           # (query, epochs): sets the texts over the twin
    alter: object = None            # (rng, query, retention): the next epoch without its place, and what ALTER says; or None

    def altered(self, epoch, arrived, text):
        epoch.since = arrived
        self.epochs.append(epoch)
        self.options += f", after {arrived} arrivals {text}"

    def as_of(self, epochs):
        """With the first so many epochs: what has been altered by then."""
        if self.render:
            self.render(self, self.epochs[:epochs])


@dataclass
class Table:
    """What both sides of a query need to know of the stream."""
    name: str
    twin: str
    time_type: str                  # timestamp or timestamptz
    span: int                       # microseconds its rows cover, roughly
    step: int                       # and from one to the next
    first: int = 0                      # no row is earlier, as microseconds since 1970
    last: int = 0                       # or later
    calendars: bool = True          # no row is far away: the windows of a time zone can be listed
    time: str = "ts"                # what windows are over
    ticks: bool = False             # the clock is driven: results by the clock have an oracle

    @property
    def by_clock(self):
        return self.time != "ts"


def length(rng, table, part):
    """Up to a part of what the rows cover; often so that times are met exactly."""
    most = max(table.span, 10 * SECOND) // part
    if rng.random() < 0.5 and table.step <= most:
        return table.step * rng.randint(1, most // table.step)
    return MS * rng.randint(1, max(1, most // MS))


def interval(us):
    """An interval literal of so many microseconds, in a random-looking but exact form."""
    if us % DAY == 0 and us:
        return f"interval '{us // DAY} days'"
    if us % SECOND == 0:
        return f"interval '{us // SECOND} seconds'"
    if us % MS == 0:
        return f"interval '{us // MS} milliseconds'"
    return f"interval '{us} microseconds'"


# ------------------------------------------------------------------ expressions

KEYS = ["k_int", "k_text", "k_num", "flag", "lower(k_text)", "k_int % 3", "coalesce(k_int, -1)", "(k_num > 3)",
        "k_int + v_int % 2", "left(k_text, 1)"]

CONDITIONS = ["v_int > 0", "v_int BETWEEN -50 AND 50", "k_text <> 'b'", "flag", "NOT flag", "k_int IS NOT NULL",
              "k_num IN (1.5, 2.5, 3.5)", "v_big % 2 = 0", "v_f < 10.0", "k_text LIKE '%a%' OR v_int < 0", "v_num >= 0",
              "id % 3 <> 0", "v_int IS DISTINCT FROM 7", "k_int = 2", "false"]

# Aggregates whose result does not depend on the order of their input.
UNORDERED = [
    "count(*)", "count(v_int)", "count(k_text)", "sum(v_int)", "sum(v_big)", "sum(v_num)", "sum(v_f)", "avg(v_int)",
    "avg(v_big)", "avg(v_num)", "avg(v_f)", "min(v_int)", "max(v_int)", "min(v_big)", "max(v_big)", "min(v_num)",
    "max(v_num)", "min(v_f)", "max(v_f)", "min(k_text)", "max(k_text)", "min(ts)", "max(ts)", "min(v_small)", "sum(v_small)",
    "avg(v_small)", "max(v_small)", "bool_and(flag)", "bool_or(flag)", "every(flag)", "bit_and(v_int)", "bit_or(v_int)",
    "stddev_samp(v_int)", "var_pop(v_num)", "variance(v_big)", "sum(v_int + k_int)", "max(v_int * 2)", "count(nullif(k_int, 1))",
    "random_sum(v_big)", "random_longest(k_text)", "sum(iv)", "min(iv)", "max(d)",
]
DISTINCTS = ["count(DISTINCT k_int)", "count(DISTINCT k_text)", "count(DISTINCT v_int)", "sum(DISTINCT v_int)",
             "avg(DISTINCT v_num)", "count(DISTINCT (v_int % 5))", "array_agg(DISTINCT k_int)", "count(DISTINCT v_f)"]
ORDERED = ["string_agg(k_text, ',' ORDER BY id)", "array_agg(v_int ORDER BY id)", "array_agg(v_int ORDER BY v_int DESC NULLS LAST, id)",
           "string_agg(DISTINCT k_text, '+' ORDER BY k_text)", "percentile_disc(0.5) WITHIN GROUP (ORDER BY v_int)",
           "percentile_cont(0.25) WITHIN GROUP (ORDER BY v_f)", "mode() WITHIN GROUP (ORDER BY k_text)",
           "jsonb_agg(v_int ORDER BY id)", "rank(5) WITHIN GROUP (ORDER BY v_int)", "array_agg(id ORDER BY ts, id)",
           "array_agg(DISTINCT v_int ORDER BY v_int NULLS FIRST)"]
# In arrival order: the twin has to say so.
ARRIVAL = [("array_agg(id)", "array_agg(id ORDER BY arrival)"), ("string_agg(k_text, '/')", "string_agg(k_text, '/' ORDER BY arrival)"),
           ("(array_agg(v_int))[1]", "(array_agg(v_int ORDER BY arrival))[1]")]
HAVING = ["count(*) > 1", "sum(v_int) > 0", "max(v_big) IS NOT NULL", "count(DISTINCT k_int) >= 2", "avg(v_int) < 20", "min(id) % 2 = 0"]
OUTPUTS = ["id", "k_int", "k_text", "v_num * 2", "v_int + coalesce(k_int, 0)", "upper(k_text)", "CASE WHEN flag THEN v_int ELSE -v_int END",
           "ts", "date_trunc('minute', ts)", "v_f / 2", "length(k_text)", "k_text || '!'", "v_big::numeric", "flag IS TRUE", "iv", "d",
           "extract(hour FROM ts)", "ts + interval '1 hour'", "ARRAY[k_int, v_int]", "NULL::text", "42"]


def aggregate(rng, arrival_ordered):
    """One aggregate call, as (view text, oracle text)."""
    pick = rng.random()
    if arrival_ordered and pick < 0.08:
        view, oracle = rng.choice(ARRIVAL)
        return view, oracle
    pool = UNORDERED if pick < 0.68 else DISTINCTS if pick < 0.82 else ORDERED
    view = oracle = rng.choice(pool)
    if rng.random() < 0.25:
        condition = rng.choice(CONDITIONS)
        view = oracle = f"{view} FILTER (WHERE {condition})"
    if rng.random() < 0.08 and "array" not in view and "min(ts)" not in view:
        view = oracle = f"coalesce({view}::text, 'none')"
    return view, oracle


# ---------------------------------------------------------------------- windows

def choose_window(rng, table):
    """(call, SQL of (ws, we, le) over us, kind): random sizes in proportion to what the rows cover; le: the last end of a window with this start."""
    if table.time_type == "timestamptz" and table.calendars and rng.random() < 0.4:
        call, windows, kind = calendars.choose(rng, table.first, table.last)
        return call.replace("(ts,", f"({table.time},", 1), windows, kind
    span = max(table.span, 10 * SECOND)
    unit = rng.choice([MS, 100 * MS, SECOND, 7 * SECOND, MINUTE, table.step, table.step])
    unit = max(unit, span // 2000 // MS * MS, MS)

    def units(most):
        return unit * rng.randint(1, max(1, most // unit))

    shift = rng.choice([0, 0, 0, unit, -unit * 3, unit * 7 // 2 // MS * MS, 1])
    kind = rng.choice(["tumble", "tumble", "hop", "hop", "cumulate"])
    shift_text = f", {interval(shift)}" if shift or rng.random() < 0.2 else ""
    if shift_text and rng.random() < 0.3:
        shift_text = shift_text.replace(", ", ", shift => ", 1)
    if kind == "tumble":
        size = units(span // 4)
        start = f"(floor((us - ({shift}))::numeric / {size}) * {size} + ({shift}))::bigint"
        return (f"tumble({table.time}, {interval(size)}{shift_text})", f"SELECT {start} AS ws, {start} + {size} AS we, {start} + {size} AS le", kind)
    if kind == "hop":
        slide = units(span // 10)
        size = rng.choice([slide * rng.randint(1, 12), slide * rng.randint(1, 6) + slide // 3 // MS * MS + MS, max(unit, slide // 2 // unit * unit)])
        first = f"(floor((us - ({shift}))::numeric / {slide}) * {slide} + ({shift}))::bigint"
        return (f"hop({table.time}, {interval(slide)}, {interval(size)}{shift_text})",
                f"SELECT g AS ws, g + {size} AS we, g + {size} AS le FROM generate_series({first}, us - {size} + 1, -{slide}::bigint) g", kind)
    step = units(span // 10)
    size = step * rng.randint(1, 8)
    start = f"(floor((us - ({shift}))::numeric / {size}) * {size} + ({shift}))::bigint"
    return (f"cumulate({table.time}, {interval(step)}, {interval(size)}{shift_text})",
            f"SELECT w AS ws, g AS we, w + {size} AS le FROM (SELECT {start} AS w) b, "
            f"generate_series(w + ((us - w) / {step} + 1) * {step}, w + {size}, {step}::bigint) g", kind)


def windowed_twin(table, windows, late, epochs=(Epoch(),)):
    """The twin's rows, once per window, without what is late (or with, for counting)."""
    keep = "" if late else " AND (horizon IS NULL OR we > horizon)"
    return (f"(SELECT r.*, ws, we, le, {moment(table, 'ws')} AS window_start, {moment(table, 'we')} AS window_end, {moment(table, 'we - 1')} AS window_time "
            f"FROM {judged(table, epochs)} r, LATERAL ({windows}) w WHERE NOT is_mark AND us IS NOT NULL{keep}) x")


# ---------------------------------------------------------------------- queries

# To the oracle a condition; the view raises an error for the rows that do not meet it, and leaves them out.
GOOD = "(id % 13 <> 5)"
RAISES = "(7 / (id % 13 - 5) IS NOT NULL)"


def where(rng):
    good = rng.random() < 0.2
    if rng.random() < 0.5:
        return f" WHERE {GOOD}" if good else ""
    conditions = rng.sample(CONDITIONS[:-1], rng.choice([1, 1, 2]))
    condition = rng.choice([" AND ", " OR "]).join(f"({c})" for c in conditions)
    return f" WHERE {GOOD} AND ({condition})" if good else f" WHERE {condition}"


def with_errors(rng, query):
    """Let the view raise where the oracle has a condition."""
    if GOOD in query.view:
        query.view = query.view.replace(GOOD, RAISES)
        query.options += f", stream_engine.on_error = {rng.choice(['skip', 'dead_letter'])}"
        query.kind += " with errors"
    else:
        query.errors = "SELECT 0, 0"
    return query


def errors(table, rows, filter_):
    """Which of several conditions comes first is PostgreSQL's to say, and whether a row that is in no window is looked at the plan's."""
    least = f"SELECT count(DISTINCT arrival) FROM {rows} WHERE NOT {GOOD}{filter_.replace(GOOD, 'true').replace(' WHERE ', ' AND ', 1)}"
    return f"SELECT ({least}), (SELECT count(*) FROM {table.twin} WHERE NOT is_mark AND NOT {GOOD})"


def grouped(rng, table, windowed):
    """GROUP BY with aggregates, over windows or not."""
    filter_ = where(rng)
    if windowed:
        epoch, options = choose_emit(rng, table) if rng.random() < 0.5 else (Epoch(), "")
        call, windows, kind = choose_window(rng, table)
        source = f"{table.name}, {call}"
        group = ["window_start", "window_end"]
        if rng.random() < 0.3:
            group = [rng.choice(group)]
    else:
        epoch, options = choose_group_emit(rng, table) if rng.random() < 0.4 else (Epoch(on_update=True), "")
        kind, source, group = "group", table.name, []
    keys = rng.sample(KEYS, rng.choice([0, 1, 1, 2, 3]))
    items = group + keys
    rng.shuffle(items)
    select_view, select_oracle, by, shown = [], [], [], []
    for item in items:
        if not windowed or options or rng.random() < 0.8:
            select_view.append(f"{item} AS g{len(by)}")
            shown.append(item)
            by.append(str(len(select_view)) if rng.random() < 0.25 else item)
        else:
            by.append(item)
    select_oracle = list(select_view)
    for i in range(rng.randint(0 if select_view and items else 1, 5)):
        view, oracle = aggregate(rng, kind in ("tumble", "group"))
        select_view.append(f"{view} AS a{i}")
        select_oracle.append(f"{oracle} AS a{i}")
    if not select_view:
        select_view = select_oracle = ["count(*) AS a0"]
    having = f" HAVING {rng.choice(HAVING)}" if by and rng.random() < 0.2 else ""
    tail = f"{filter_}{f' GROUP BY ' + ', '.join(by) if by else ''}{having}"
    select = f"SELECT {', '.join(select_oracle)}"
    if windowed and "window_end" in shown and rng.random() < 0.25:
        epoch.retention = choose_retention(rng, table)
        options += f", stream_engine.retention = '{epoch.retention} us'"
    want_arrivals = windowed and not table.by_clock and rng.random() < 0.5
    by_start = group == ["window_start"]

    def render(query, epochs):
        if not windowed:
            twin = f"(SELECT * FROM {table.twin} WHERE NOT is_mark) x"
            query.oracle = f"{select} FROM {twin}{tail}"
            query.now = f"{select} FROM {emissions.groups(table, twin + filter_, keys, epochs)}{tail}"
            # By the server's clock; or by counts from before an on_update, which keeps none.
            counted = [bool(e.every) for e in epochs]
            if (not table.ticks and any(e.early_clock for e in epochs) or counted[-1] and False in counted[counted.index(True):]) and not epochs[-1].on_update:
                query.now = None
            return
        kept = emissions.not_retired(table, epochs, 0)
        twin = windowed_twin(table, windows, False, epochs)
        query.oracle = f"{select} FROM (SELECT * FROM {twin}{kept}) x{tail}"
        query.now = f"{select} FROM (SELECT * FROM {emissions.windows(table, twin + filter_, 'le' if by_start else 'we', keys, epochs)}{kept}) x{tail}"
        # A row is in each of the windows that start together, and counts as often: it may be shown in part.
        if by_start and any(e.every for e in epochs):
            query.now = None
        if not table.ticks and any(e.early_clock for e in epochs):
            query.now = None
        missed = (f"(SELECT arrival, count(*) AS windows, count(*) FILTER (WHERE we <= horizon) AS missed "
                  f"FROM {windowed_twin(table, windows, True, epochs)}{filter_} GROUP BY arrival) y")
        query.late = f"SELECT count(*) FILTER (WHERE missed = windows), coalesce(sum(missed), 0) FROM {missed}"
        query.late_arrivals = f"SELECT arrival FROM {missed} WHERE missed = windows" if want_arrivals else None

    def alter(rng, query, retention):
        if windowed:
            return alter_emit(rng, table, query, len(shown) == len(items), retention and "window_end" in shown)
        if "stream_engine.emit = " not in query.options:
            return None
        every = rng.choice([0, rng.randint(1, 4)])
        mode = f"every {every} rows" if every else "on_update"
        return Epoch(every=every, on_update=not every), f"SET (stream_engine.emit = '{mode}')"

    query = Query(f"SELECT {', '.join(select_view)} FROM {source}{tail}", "", kind=kind + (" by clock" if table.by_clock else ""), options=options, by_clock=table.by_clock,
                  epochs=[epoch], render=render, alter=alter)
    query.errors = errors(table, windowed_twin(table, windows, True) if windowed else f"(SELECT * FROM {table.twin} WHERE NOT is_mark) x", filter_)
    render(query, query.epochs)
    return query


def alter_emit(rng, table, query, results_change, retention):
    """Other options of the same view: the epoch to come and what ALTER says."""
    last = query.epochs[-1]
    if retention and last.retention is not None and rng.random() < 0.2:
        return replace(last, retention=None), "RESET (stream_engine.retention)"
    epoch, options = replace(last), []
    if results_change and rng.random() < 0.7:
        epoch, text = choose_emit(rng, table)
        epoch.retention = last.retention
        options.append(text[2:])
        if "allowed_lateness" not in text and not table.by_clock:
            options.append("stream_engine.allowed_lateness = '0'")
    if retention and rng.random() < 0.5:
        epoch.retention = choose_retention(rng, table)
        options.append(f"stream_engine.retention = '{epoch.retention} us'")
    return (epoch, f"SET ({', '.join(options)})") if options else None


def choose_retention(rng, table):
    return length(rng, table, rng.choice([2, 20]))


def projected(rng, table, windowed):
    """Filter and project, perhaps with the row's windows."""
    outputs = [f"{e} AS c{i}" for i, e in enumerate(rng.sample(OUTPUTS, rng.randint(1, 6)))]
    filter_ = where(rng)
    of_time = []
    if table.ticks and rng.random() < 0.3:
        of_time.append(("proctime() AS t0", f"{moment(table, 'clock', 'timestamptz')} AS t0"))
    if not table.by_clock and rng.random() < 0.3:
        of_time.append((f"current_watermark('{table.name}') AS t1", f"{moment(table, 'wm', 'timestamptz')} AS t1"))
    if windowed:
        call, windows, kind = choose_window(rng, table)
        outputs += rng.sample(["window_start", "window_end", "window_time"], rng.randint(1, 3))
        # Rows without an aggregate are not judged: no window closes over them.
        source, twin = f"{table.name}, {call}", windowed_twin(table, windows, True)
    else:
        kind, source, twin = "project", table.name, f"(SELECT * FROM {judged(table)} j WHERE NOT is_mark) x"
    texts = [", ".join(outputs + [pair[side] for pair in of_time]) for side in (0, 1)]
    oracle = f"SELECT {texts[1]} FROM {twin}{filter_}"
    return Query(f"SELECT {texts[0]} FROM {source}{filter_}", oracle, None, f"{kind} rows" + (" by clock" if table.by_clock else ""), now=oracle, by_clock=table.by_clock,
                 errors=errors(table, twin, filter_))


# Gaps of a row: as the view says it, and in microseconds.
def choose_gap(rng, table):
    span = max(table.span, 10 * SECOND)
    most = max(span // rng.choice([50, 200, 1000]) // MS * MS, MS)
    gaps = [MS * rng.randint(0, most // MS) for _ in range(2)]
    if rng.random() < 0.6:
        return interval(gaps[0]), str(gaps[0])
    condition = rng.choice(CONDITIONS[:-1])         # a gap that is always NULL is refused
    last = rng.choice([(interval(gaps[1]), str(gaps[1])), ("NULL", "NULL")])
    return (f"CASE WHEN {condition} THEN {interval(gaps[0])} ELSE {last[0]} END",
            f"(CASE WHEN {condition} THEN {gaps[0]} ELSE {last[1]} END)::bigint")


def choose_emit(rng, table):
    """Options for results that change: (the epoch that begins with them, their text)."""
    epoch = Epoch(lateness=0 if table.by_clock else rng.choice([0, length(rng, table, 100), length(rng, table, 10)]))
    mode = rng.choice(["early", "early", "early processing", "every", "on_update", "on_update" if table.by_clock or not epoch.lateness else "on_close"]
                      + ["early processing"] * (2 if table.ticks else 0))
    modes = ["on_update" if mode == "on_update" else "on_close"]
    if mode == "on_update":
        epoch.on_update = True
    if mode.startswith("early"):
        epoch.early = length(rng, table, 20)
        epoch.early_clock = mode != "early"
        modes = [f"early {epoch.early} us" + (" processing" if epoch.early_clock else "")]
    if mode == "every" or mode.startswith("early") and rng.random() < 0.2:
        epoch.every = rng.randint(1, 5)
        modes = [m for m in modes if m != "on_close"] + [f"every {epoch.every} rows"]
    if epoch.lateness and rng.random() < 0.4:
        epoch.late = rng.choice([0, length(rng, table, 50)])
        modes.append(f"late {epoch.late} us")
    if rng.random() < 0.3 and "on_close" not in modes and not table.by_clock:
        modes.append("on_close")
    rng.shuffle(modes)
    options = f", stream_engine.emit = '{', '.join(modes)}'"
    if epoch.lateness:
        options += f", stream_engine.allowed_lateness = '{epoch.lateness} us'"
    return epoch, options


def choose_group_emit(rng, table):
    """The same without windows."""
    early = length(rng, table, 20)
    epoch = rng.choice([Epoch(on_update=True), Epoch(early=early), Epoch(early=early, early_clock=True), Epoch(every=rng.randint(1, 5)),
                        Epoch(every=rng.randint(1, 5), early=early)])
    modes = (["on_update"] if epoch.on_update else []) + ([f"every {epoch.every} rows"] if epoch.every else [])
    if epoch.early:
        modes.append(f"early {epoch.early} us" + (" processing" if epoch.early_clock else ""))
    return epoch, f", stream_engine.emit = '{', '.join(modes)}'"


def sessions(rng, table):
    """GROUP BY sessions; which row is in which is the reference's to say (run.py)."""
    filter_ = where(rng)
    gap, gap_us = choose_gap(rng, table)
    keys = rng.sample(KEYS, rng.choice([0, 1, 1, 1, 2]))
    key = f"ROW({', '.join('trim_scale(k_num)' if k == 'k_num' else k for k in keys)})::text"
    group = rng.choice([["window_start", "window_end"], ["window_end", "window_start"], ["window_start"], ["window_end"],
                        ["window_start", "window_end", "window_time"]])
    epoch, options = choose_emit(rng, table) if rng.random() < 0.6 else (Epoch(), "")
    if options and group == ["window_start"]:
        group = ["window_end"]      # rows that change are found by it
    items = keys + group
    rng.shuffle(items)
    shown = [(i, item) for i, item in enumerate(items) if options or rng.random() < 0.85]
    select_view = [f"{item} AS g{i}" for i, item in shown]
    select_oracle = list(select_view)
    for i in range(rng.randint(0 if select_view else 1, 5)):
        view, oracle = aggregate(rng, True)
        select_view.append(f"{view} AS a{i}")
        select_oracle.append(f"{oracle} AS a{i}")
    having = f" HAVING {rng.choice(HAVING)}" if rng.random() < 0.2 else ""
    ends = [f"g{i}" for i, item in shown if item == "window_end"]
    if ends and rng.random() < 0.25:
        epoch.retention = choose_retention(rng, table)
        options += f", stream_engine.retention = '{epoch.retention} us'"
    tail = f" GROUP BY {', '.join(items)}{having}"
    want_arrivals = not table.by_clock and rng.random() < 0.5

    def render(query, epochs):
        # Rows that the condition leaves out move the watermark, but are in no session.
        input_ = (f"SELECT arrival, {key} AS key, us, {gap_us} AS gap_us, horizon FROM "
                  f"(SELECT * FROM {judged(table, epochs)} j WHERE NOT is_mark) x{filter_}")
        reference = f"random_sessions($sessions${input_}$sessions$)"
        twin = (f"(SELECT x.*, ws, we, {moment(table, 'ws')} AS window_start, {moment(table, 'we')} AS window_end, {moment(table, 'we - 1')} AS window_time "
                f"FROM {table.twin} x JOIN {reference} m USING (arrival) WHERE ws IS NOT NULL) y")
        kept = emissions.not_retired(table, epochs, 1)
        query.oracle = f"SELECT {', '.join(select_oracle)} FROM (SELECT * FROM {twin}{kept}) y{tail}"
        query.late = f"SELECT count(*), count(*) FROM {reference} WHERE ws IS NULL"
        query.late_arrivals = f"SELECT arrival FROM {reference} WHERE ws IS NULL" if want_arrivals else None
        # Each commit shows all that there is; or what is final, and of the rest what some commit has shown.
        horizon = emissions.horizon(table, epochs)
        final = f"{' AND' if kept else ' WHERE'} we < {horizon}"
        query.now, query.part = query.oracle, ""
        if not (epochs[-1].on_update and epochs[-1].late == 0):
            query.now = f"SELECT {', '.join(select_oracle)} FROM (SELECT * FROM {twin}{kept}{final}) y{tail}"
        if query.now != query.oracle and any(e.updating for e in epochs):
            query.part = f"{ends[0]} < {moment(table, horizon)}" if ends else "false"
            query.now = query.now if ends else None

    def alter(rng, query, retention):
        return alter_emit(rng, table, query, len(shown) == len(items) and "window_end" in items, retention and bool(ends))

    query = Query(f"SELECT {', '.join(select_view)} FROM {table.name}, session({table.time}, {gap}){filter_}{tail}", "",
                  kind="session" + (" by clock" if table.by_clock else "") + (" " + options.split("'")[1] if "emit" in options else ""), options=options,
                  by_clock=table.by_clock, epochs=[epoch], render=render, alter=alter)
    render(query, query.epochs)
    return query


def counted(rng, table):
    """GROUP BY windows of so many rows of a key, by their numbers in order of arrival."""
    filter_ = where(rng)
    size = rng.choice([1, 2, 3, 5, 8, 13, 40, 100])
    slide = rng.choice([size, size, 1, rng.randint(1, size), rng.randint(1, 2 * size)])
    partial = rng.random() < 0.4
    keys = rng.sample(KEYS, rng.choice([0, 1, 1, 1, 2]))
    items = keys + ["window_id"]
    rng.shuffle(items)
    select_view = [f"{item} AS g{i}" for i, item in enumerate(items) if rng.random() < 0.85]
    select_oracle = list(select_view)
    for i in range(rng.randint(0 if select_view else 1, 5)):
        view, oracle = aggregate(rng, True)
        select_view.append(f"{view} AS a{i}")
        select_oracle.append(f"{oracle} AS a{i}")
    above = f"window_id % 3 <> {rng.randint(0, 2)}" if rng.random() < 0.15 else ""
    tail = f" GROUP BY {', '.join(items)}" + (f" HAVING {rng.choice(HAVING)}" if rng.random() < 0.2 else "")
    over = f"PARTITION BY {', '.join(keys)} " if keys else ""
    numbered = (f"(SELECT *, row_number() OVER ({over}ORDER BY arrival) AS rn, count(*) OVER ({over}) AS total "
                f"FROM (SELECT * FROM {table.twin} WHERE NOT is_mark) j{filter_}) x")
    if partial:
        member = f"rn > (window_id + 1) * {slide} - {size} AND rn <= (window_id + 1) * {slide}"
    else:
        member = f"rn > window_id * {slide} AND rn <= window_id * {slide} + {size} AND window_id * {slide} + {size} <= total"
    twin = f"{numbered}, generate_series(0, (total - 1) / {slide}) window_id WHERE {member}" + (f" AND {above}" if above else "")
    # The last one in part comes when the input has ended.
    now = twin + (f" AND (window_id + 1) * {slide} <= total" if partial else "")
    call = f"count_window({size})" if slide == size and rng.random() < 0.8 else f"count_window({size}, {slide})"
    where_view = " AND ".join(([f"({filter_[7:]})"] if filter_ else []) + ([above] if above else []))
    return Query(f"SELECT {', '.join(select_view)} FROM {table.name}, {call}{' WHERE ' + where_view if where_view else ''}{tail}",
                 f"SELECT {', '.join(select_oracle)} FROM {twin}{tail}", "SELECT 0, 0", "count partial" if partial else "count",
                 ", stream_engine.emit_partial" if partial else "", now=f"SELECT {', '.join(select_oracle)} FROM {now}{tail}")


def expiring(rng, table):
    """GROUP BY with state_ttl by event time, or by the clock; which row is in which life of its group is the reference's to say (run.py)."""
    filter_ = where(rng)
    ttl = length(rng, table, rng.choice([5, 50, 500]))
    delete = rng.random() < 0.5
    keys = rng.sample(KEYS, rng.choice([1, 1, 2]))
    key = f"ROW({', '.join('trim_scale(k_num)' if k == 'k_num' else k for k in keys)})::text"
    select_view = [f"{item} AS g{i}" for i, item in enumerate(keys)]
    select_oracle = list(select_view)
    for i in range(rng.randint(0, 5)):
        view, oracle = aggregate(rng, True)
        select_view.append(f"{view} AS a{i}")
        select_oracle.append(f"{oracle} AS a{i}")
    tail = f" GROUP BY {', '.join(keys)}" + (f" HAVING {rng.choice(HAVING)}" if rng.random() < 0.2 else "")
    # Rows that the condition leaves out move the watermark, but are in no group. By the clock a row comes when it is that time.
    input_ = f"SELECT arrival, {key} AS key, us, {'us' if table.by_clock else 'wm'} AS wm FROM (SELECT * FROM {judged(table)} j WHERE NOT is_mark) x{filter_}"
    reference = f"random_lives($lives${input_}$lives$, {ttl})"
    lives = f"(SELECT *, max(life) OVER (PARTITION BY key) AS last, max(over) OVER (PARTITION BY key, life) AS ends FROM {reference}) m"
    living = f" AND coalesce(ends > (SELECT max(said) FROM {table.twin}), true)" if delete else ""
    twin = f"(SELECT x.* FROM {table.twin} x JOIN {lives} USING (arrival) WHERE life = last{living}) y"
    late = f"SELECT count(*), count(*) FROM {reference} WHERE life IS NULL"
    options = f", stream_engine.state_ttl = '{ttl} us{'' if table.by_clock else ' on ts'}'" + (", stream_engine.ttl_delete" if delete else "")
    oracle = f"SELECT {', '.join(select_oracle)} FROM {twin}{tail}"
    return Query(f"SELECT {', '.join(select_view)} FROM {table.name}{filter_}{tail}", "SELECT WHERE false" if delete else oracle, late,
                 "ttl" + (" delete" if delete else "") + (" by clock" if table.by_clock else ""), options,
                 f"SELECT arrival FROM {reference} WHERE life IS NULL" if rng.random() < 0.5 and not table.by_clock else None, oracle)


def choose(rng, table, by_clock=None, wanted=None):
    """A query by event time, or, where the clock is driven, by that; `wanted`: "by clock", of those that wait for it, or "by event time"."""
    if by_clock is not None and (wanted == "by clock" or wanted is None and rng.random() < 0.2):
        return with_errors(rng, choose_by_clock(rng, by_clock, wanted is None))
    return with_errors(rng, choose_query(rng, table))


def choose_by_clock(rng, table, rows=True):
    pick = rng.random()
    if pick < 0.15:
        return expiring(rng, table)
    if pick < 0.3:
        return sessions(rng, table)
    return grouped(rng, table, True) if pick < 0.85 or not rows else projected(rng, table, True)


def choose_query(rng, table):
    pick = rng.random()
    if rng.random() < 0.08:
        return expiring(rng, table)
    if rng.random() < 0.1:
        return counted(rng, table)
    if pick < 0.15:
        return sessions(rng, table)
    if pick < 0.55:
        return grouped(rng, table, True)
    if pick < 0.80:
        return grouped(rng, table, False)
    return projected(rng, table, rng.random() < 0.4)
