# test/random/units.py: lengths of time in microseconds.
MS = 1000
SECOND = 1000 * MS
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR
