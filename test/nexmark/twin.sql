-- The heap twins of the streams, in a schema of its own: with search_path = twin, public the text
-- of a query reads the heaps, and its windows are these plain SQL functions, not the engine's.
CREATE SCHEMA twin;
CREATE TABLE twin.bid (auction bigint, bidder bigint, price bigint, channel text, url text,
    date_time timestamp(3), extra text, seq bigint, proctime timestamptz);
CREATE TABLE twin.person (id bigint, name text, email_address text, credit_card text, city text, state text,
    date_time timestamp(3), extra text, seq bigint);
CREATE TABLE twin.auction (id bigint, item_name text, description text, initial_bid bigint, reserve bigint,
    date_time timestamp(3), expires timestamp(3), seller bigint, category bigint, extra text, seq bigint);

CREATE FUNCTION twin.tumble(ts timestamp, size interval, OUT window_start timestamp, OUT window_end timestamp)
    RETURNS SETOF record LANGUAGE sql IMMUTABLE ROWS 1 AS
$$ SELECT s, s + size FROM date_bin(size, ts, timestamp '1970-01-01') s $$;

CREATE FUNCTION twin.hop(ts timestamp, slide interval, size interval, OUT window_start timestamp, OUT window_end timestamp)
    RETURNS SETOF record LANGUAGE sql IMMUTABLE ROWS 5 AS
$$ SELECT s, s + size
   FROM generate_series(date_bin(slide, ts, timestamp '1970-01-01'), ts - size + interval '1 microsecond', -slide) s $$;
