# test/random/calendars.py: windows of time zones, listed by walking over the clock.
#
# The clock of a zone is looked at every few minutes (zoneinfo); where it is put back it
# counts as standing still. A window is the minutes whose clock lies between two local
# times, which are made with dates. Nothing is inverted, nothing is computed from offsets.
from bisect import bisect_left
from datetime import datetime, timedelta, timezone
from zoneinfo import ZoneInfo

from units import DAY, HOUR, MINUTE

EPOCH = datetime(1970, 1, 1)
MONDAY = datetime(1970, 1, 5)
ZONES = ["Europe/Berlin", "America/Sao_Paulo", "Asia/Kathmandu", "Pacific/Apia", "America/New_York", "Australia/Lord_Howe", "UTC"]


def clock(zone, first, last, step):
    """(instants as microseconds since 1970, the latest local time the clock has shown by each)."""
    info = ZoneInfo(zone)
    instants, shown = [], []
    latest = datetime.min
    for us in range(first // step * step, last + step, step):
        local = (datetime(1970, 1, 1, tzinfo=timezone.utc) + timedelta(microseconds=us)).astimezone(info).replace(tzinfo=None)
        instants.append(us)
        shown.append(max(local, latest))
        latest = max(latest, local + timedelta(microseconds=step - 1))
    return instants, shown


def add_months(start, months):
    number = start.year * 12 + start.month - 1 + months
    return start.replace(year=number // 12, month=number % 12 + 1)


def local_windows(kind, months, slide, size, shift, first, last):
    """(start, end) as local times, all that may hold something between two; lengths in months or microseconds."""
    period = slide if kind == "hop" else size
    if months:
        first_month = (first.year - 1970) * 12 + first.month - 1 - size - period - 2
        starts = [add_months(EPOCH, m) + shift for m in range(first_month // period * period, first_month + 12 * 300, period)]
        length = lambda s, n: add_months(s - shift, n) + shift
    else:
        origin = (MONDAY if period % (7 * DAY) == 0 else EPOCH) + shift
        step = timedelta(microseconds=period)
        number = (first - origin) // step - size // period - 2
        starts = [origin + (number + i) * step for i in range((last - first) // step + size // period + 6)]
        length = lambda s, n: s + timedelta(microseconds=n)
    for start in starts:
        if start > last:
            break
        if kind != "cumulate":
            yield start, length(start, size)
            continue
        end = length(start, size)
        if slide == 0:                      # a day, in months to date
            days = (end - start) // timedelta(days=1)
            yield from ((start, start + timedelta(days=i + 1)) for i in range(days))
        else:
            yield from ((start, length(start, n)) for n in range(slide, size + 1, slide))


def choose(rng, first, last):
    """(call, SQL of (ws, we, le) over us, kind) of a random window, for rows between first and last; le: the last end of a window with this start."""
    zone = rng.choice(ZONES)
    kind = rng.choice(["tumble", "tumble", "hop", "cumulate"])
    months = rng.random() < 0.3
    span = last - first
    shift_minutes = rng.choice([0, 0, 0, 90, -60 * 30, 60 * 24])
    shift = timedelta(minutes=shift_minutes)
    if months:
        unit = rng.choice([1, 1, 3, 12]) if kind != "hop" else rng.choice([1, 1, 3])
        text = lambda n: f"interval '{n} months'"
        slide, size = unit, unit * rng.randint(1, 1 if unit == 12 else 4) if kind != "tumble" else unit
        margin = (size + 2) * 31 * DAY
        if kind == "cumulate" and rng.random() < 0.5:
            slide, size = 0, unit
    else:
        unit = rng.choice([15 * MINUTE, HOUR, 2 * HOUR, 7 * HOUR, DAY, DAY, 3 * DAY, 7 * DAY])
        unit = max(unit, (span // 200 // HOUR + 1) * HOUR) if span > 200 * unit else unit
        text = lambda n: f"interval '{n // DAY} days'" if n % DAY == 0 else f"interval '{n // MINUTE} minutes'"
        slide, size = unit, unit * rng.randint(1, 4) if kind != "tumble" else unit
        if kind == "hop" and rng.random() < 0.4:
            size = rng.choice([unit // 2 // MINUTE * MINUTE + MINUTE, size + unit // 3 // MINUTE * MINUTE])
        margin = size * 2 + 3 * DAY
    step_text = "interval '1 day'" if slide == 0 else text(slide)
    arguments = ([] if kind == "tumble" else [step_text]) + [text(size)]
    if shift_minutes:
        arguments.append(f"shift => interval '{shift_minutes} minutes'")
    arguments.append(f"timezone => '{zone}'")

    # changes of the clock fall on quarters of an hour, and so do bounds unless a size has odd minutes
    odd = not months and (size % (15 * MINUTE) or slide % (15 * MINUTE))
    instants, shown = clock(zone, first - margin, last + margin, MINUTE if odd else 15 * MINUTE)
    windows = {}
    for start, end in local_windows(kind, months, slide, size, shift, shown[0], shown[-1]):
        a, b = bisect_left(shown, start), bisect_left(shown, end)
        if a == b or a == 0 or b == len(shown):
            continue
        if instants[b] > first and instants[a] <= last:
            windows[instants[b]] = min(windows.get(instants[b], instants[a]), instants[a])
    last_ends = {}
    for end, start in windows.items():
        last_ends[start] = max(end, last_ends.get(start, end))
    values = ", ".join(f"({start}, {end}, {last_ends[start]})" for end, start in windows.items()) or "(0, 0, 0)"      # all rows may lie in a gap
    return (f"{kind}(ts, {', '.join(arguments)})",
            f"SELECT ws, we, le FROM (VALUES {values}) w(ws, we, le) WHERE ws <= us AND us < we", kind)
