# test/random/emissions.py: what results show before they are final, as SQL over the twin.
#
# When a result comes follows from the options and from what the log has said so far. A window
# (a group without one) is emitted at certain values of the watermark; at certain ticks of the clock;
# at the n-th row of a group; or with each commit. The result shows what the last of these has found: the
# group's rows up to the place where it happened. That place is looked up, never stepped to: of all the values at which a window
# is emitted the greatest that the watermark has reached, and where it was first reached.
#
# Options may be altered between two rows: an *epoch* is a stretch of arrivals with the same ones.
from dataclasses import dataclass

NEVER = -2**62                          # a watermark before any
ALWAYS = 2**62                          # a place behind all rows


@dataclass
class Epoch:
    """Options from arrival `since` (exclusive) on; lengths in microseconds, 0 = not given."""
    since: int = 0
    early: int = 0
    early_clock: bool = False           # early: by ticks of the clock
    every: int = 0
    on_update: bool = False
    late: int = 0                       # 0: what late rows change comes with each commit
    lateness: int = 0
    retention: int | None = None

    @property
    def updating(self):
        return bool(self.early or self.every or self.on_update or self.lateness)


def moment(table, us, time_type=None):
    if (time_type or table.time_type) == "timestamp":
        return f"(timestamp '1970-01-01' + ({us}) * interval '1 microsecond')"
    return f"(timestamptz '1970-01-01 00:00+00' + ({us}) * interval '1 microsecond')"


def by_place(epochs, value):
    """SQL over `arrival`: the value of the epoch it is in."""
    values = [value(e) for e in epochs]
    if len(set(values)) == 1:
        return str(values[0])
    cases = " ".join(f"WHEN arrival > {e.since} THEN {v}" for e, v in list(zip(epochs, values))[:0:-1])
    return f"(CASE {cases} ELSE {values[0]} END)"


def watermarks(table):
    """The twin with the watermark before each item, and behind it."""
    return (f"(SELECT *, max(said) OVER (ORDER BY arrival ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS wm, "
            f"max(said) OVER (ORDER BY arrival) AS h FROM {table.twin})")


def judged(table, epochs=(Epoch(),)):
    """The same with the horizon of each row: what ends by then is final. It never goes back, whatever lateness is allowed later."""
    lateness = by_place(epochs, lambda e: e.lateness)
    now = f"wm - {lateness}"
    if len({e.lateness for e in epochs}) > 1:
        now = f"greatest({now}, max(h - {lateness}) OVER (ORDER BY arrival ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING))"
    return f"(SELECT *, {now} AS horizon FROM {watermarks(table)} w)"


def horizon(table, epochs, until=ALWAYS):
    """What is final behind the last arrival, or behind arrival `until`, in its epoch."""
    lateness = by_place(epochs, lambda e: e.lateness)
    last = [e for e in epochs if e.since < until or e.since == 0][-1]
    return f"(SELECT greatest(max(h - {lateness}), max(h) - {last.lateness}) FROM {watermarks(table)} w WHERE arrival <= {until})"


def ends(epochs):
    """Each epoch with the arrival it ends with."""
    return list(zip(epochs, [e.since for e in epochs[1:]] + [None]))


def not_retired(table, epochs, behind):
    """ WHERE we is not so old that its row is deleted. `behind`: how much later than the horizon says windows are final."""
    limits = [f"{horizon(table, epochs, ALWAYS if until is None else until)} - {e.retention + behind}" for e, until in ends(epochs) if e.retention is not None]
    return f" WHERE we > coalesce(greatest({', '.join(limits)}), {NEVER})" if limits else ""


def stretch(table, number, epoch, until):
    """One row: the places of an epoch with the watermark behind each, and those of the ticks that begin another interval of the clock."""
    crossing = f"clock_before IS NULL OR floor(clock::numeric / {epoch.early}) > floor(clock_before::numeric / {epoch.early})" if epoch.early_clock else "false"
    inside = f"arrival > {epoch.since}" + (f" AND arrival <= {until}" if until is not None else "")
    return (f"(SELECT array_agg(arrival ORDER BY arrival) FILTER (WHERE {inside}) AS js, array_agg(h ORDER BY arrival) FILTER (WHERE {inside}) AS hs, "
            f"array_agg(arrival ORDER BY arrival) FILTER (WHERE {inside} AND is_tick AND ({crossing})) AS cjs, "
            f"array_agg(h ORDER BY arrival) FILTER (WHERE {inside} AND is_tick AND ({crossing})) AS chs, "
            f"max(nullif(h, {NEVER})) FILTER (WHERE arrival <= {epoch.since}) AS before, "
            f"max(nullif(h, {NEVER}))" + (f" FILTER (WHERE arrival <= {until})" if until is not None else "") + " AS reached "
            f"FROM (SELECT arrival, is_tick, clock, max(CASE WHEN is_tick THEN clock END) OVER (ORDER BY arrival ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS clock_before, "
            f"coalesce(h, {NEVER}) AS h FROM {watermarks(table)} w) w) e{number}")


def reached_at(e, value):
    """The place in epoch e where the watermark reached a value; NULL if not in this epoch."""
    return f"CASE WHEN {value} <= {e}.reached AND ({e}.before IS NULL OR {value} > {e}.before) THEN {e}.js[1 + width_bucket({value} - 1, {e}.hs)] END"


def last_step(of, length, start, below):
    """The greatest start + k * length, k from 1, that is at most `of` and below `below`."""
    at = f"least({of}, {below} - 1)"
    return f"CASE WHEN {at} >= {start} + {length} THEN {start} + ({at} - {start}) / {length} * {length} END"


def counting(rows, partition, epochs, is_open):
    """The rows, with the place where their group was last emitted for its n-th row as `nth`."""
    if not any(e.every for e in epochs):
        return f"(SELECT *, NULL::bigint AS nth FROM {rows})"
    every = by_place(epochs, lambda e: e.every)
    over = f"OVER ({'PARTITION BY ' + ', '.join(partition) + ' ' if partition else ''}ORDER BY arrival)"
    whole = f"OVER ({'PARTITION BY ' + ', '.join(partition) if partition else ''})"
    return (f"(SELECT *, max(arrival) FILTER (WHERE counts AND rn % nullif({every}, 0) = 0) {whole} AS nth FROM "
            f"(SELECT *, count(*) FILTER (WHERE counts) {over} AS rn FROM (SELECT *, {every} > 0 AND {is_open} AS counts FROM {rows}) c) c)")


def windows(table, rows, end, keys, epochs):
    """
    The rows, of windows from `ws` to `end`, that the result shows now: those up to the last emission of their group.
    With the watermark that is at multiples of `early` in the window, at its end, at multiples of `late` behind it, and when no more rows are taken.
    """
    places = ["nth"]
    for i, (e, until) in enumerate(ends(epochs)):
        values = [f"CASE WHEN {end} <= e{i}.reached THEN {end} END", f"CASE WHEN {end} + {e.lateness} <= e{i}.reached THEN {end} + {e.lateness} END"]
        if e.early and not e.early_clock:
            values.append(last_step(f"e{i}.reached", e.early, "ws", end))
        if e.late:
            values.append(last_step(f"e{i}.reached", e.late, end, f"{end} + {e.lateness}"))
        places.append(reached_at(f"e{i}", f"greatest({', '.join(values)})"))
        if e.early_clock:
            places.append(f"e{i}.cjs[width_bucket({end} - 1, e{i}.chs)]")
        # With each commit; there is one where the epoch ends.
        closed, opened = e.late == 0, e.on_update
        places.append(f"CASE WHEN CASE WHEN {end} <= e{i}.reached THEN {closed} ELSE {opened} END THEN {ALWAYS if until is None else until} END")
    partition = ["ws", end] + [f"({k})" for k in keys]
    stretches = ", ".join(stretch(table, i, e, until) for i, (e, until) in enumerate(ends(epochs)))
    return (f"(SELECT * FROM (SELECT x.*, greatest({', '.join(places)}) AS shown FROM "
            f"{counting(rows, partition, epochs, f'(wm IS NULL OR wm < {end})')} x, {stretches}) s WHERE arrival <= shown) x")


def groups(table, rows, keys, epochs):
    """Likewise of groups without a window: at multiples of `early` since 1970, the first time with the first watermark."""
    if epochs[-1].on_update:
        return f"(SELECT * FROM {rows}) x"
    places = ["nth"]
    for i, (e, until) in enumerate(ends(epochs)):
        if e.early and not e.early_clock:
            places.append(reached_at(f"e{i}", f"(floor(e{i}.reached::numeric / {e.early}) * {e.early})::bigint"))
            if i == 0:
                places.append(f"(SELECT min(arrival) FROM {watermarks(table)} w WHERE h IS NOT NULL" + (f" AND arrival <= {until})" if until is not None else ")"))
        if e.early_clock:
            places.append(f"e{i}.cjs[cardinality(e{i}.cjs)]")
        if e.on_update:
            places.append(str(until))
    stretches = ", ".join(stretch(table, i, e, until) for i, (e, until) in enumerate(ends(epochs)))
    return (f"(SELECT * FROM (SELECT x.*, greatest({', '.join(places)}) AS shown FROM "
            f"{counting(rows, [f'({k})' for k in keys], epochs, 'true')} x, {stretches}) s WHERE arrival <= shown) x")
