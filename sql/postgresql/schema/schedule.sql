-- SPDX-License-Identifier: Apache-2.0
-- When a job is due, by this server's clock and time zones. A schedule in its normal form is
-- "every 1h30m" or "cron 0 4 * * mon Europe/Berlin", as src/schedule writes it; equal texts mean
-- equal schedules. src/schedule is the same for databases without functions, and documents the
-- rules; tests/sessions/server_schedule_test compares the two.

-- The multiplication of H's hash (src/schedule/cron_seek.c), modulo 2^64.
CREATE FUNCTION rowlock.hash_times(hash bigint, factor numeric) RETURNS bigint
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    two_64 constant numeric := 18446744073709551616;
    product numeric := (CASE WHEN hash < 0 THEN hash::numeric + two_64 ELSE hash::numeric END
                        * factor) % two_64;
BEGIN
    RETURN CASE WHEN product >= two_64 / 2::numeric THEN product - two_64 ELSE product END::bigint;
END $$;

-- The number from 0 to span - 1 that H means in the field `place` (0 minute to 4 day of week).
CREATE FUNCTION rowlock.cron_hash(place integer, job text, span integer) RETURNS integer
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    bytes constant bytea := pg_catalog.convert_to(place::text || job, 'UTF8');
    hash bigint := -3750763034362895579;   -- cbf29ce484222325
BEGIN
    FOR i IN 0 .. pg_catalog.octet_length(bytes) - 1 LOOP
        hash := rowlock.hash_times(hash # pg_catalog.get_byte(bytes, i)::bigint, 1099511628211);
    END LOOP;
    hash := rowlock.hash_times(hash # (hash >> 33 & 2147483647::bigint), 18397679294719823053);
    hash := rowlock.hash_times(hash # (hash >> 33 & 2147483647::bigint), 14181476777654086739);
    hash := hash # (hash >> 33 & 2147483647::bigint);
    RETURN (CASE WHEN hash < 0 THEN hash::numeric + 18446744073709551616 ELSE hash::numeric END
            % span::numeric)::integer;
END $$;

-- Reads one field of a cron line: its normal form, and its numbers as bits. job: the name of the
-- job, for H.
CREATE FUNCTION rowlock.cron_field(field text, place integer, job text,
                                   OUT normal text, OUT numbers bigint)
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    what constant text := (ARRAY['minute', 'hour', 'day of month', 'month', 'day of week'])
                          [place + 1];
    low constant integer := (ARRAY[0, 0, 1, 1, 0])[place + 1];
    high constant integer := (ARRAY[59, 23, 31, 12, 7])[place + 1];
    span constant integer := (ARRAY[60, 24, 31, 12, 7])[place + 1];
    hashed_high constant integer := (ARRAY[59, 23, 28, 12, 6])[place + 1];
    names constant text[] := CASE place
        WHEN 3 THEN ARRAY['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct',
                          'nov', 'dec']
        WHEN 4 THEN ARRAY['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'] ELSE '{}' END;
    allowed constant text := (ARRAY['0 to 59', '0 to 23', '1 to 31', '1 to 12 and jan to dec',
        '0 to 7, where 0 and 7 are Sunday, and sun to sat'])[place + 1];
    item text;
    part text[];
    ends integer[];
    step integer;
    wrong text;
BEGIN
    numbers := 0;
    normal := '';
    FOREACH item IN ARRAY pg_catalog.string_to_array(field, ',') LOOP
        -- 1 *, 2 H, 3 and 4 the range of H, 5 a number, 6 the end of its range, 7 the step
        part := pg_catalog.regexp_match(item,
            '^(?:(\*)|(H)(?:\(([0-9A-Za-z]+)-([0-9A-Za-z]+)\))?|([0-9A-Za-z]+)(?:-([0-9A-Za-z]+))?)'
            '(?:/([0-9]+))?$');
        IF part IS NULL THEN
            wrong := pg_catalog.format('"%s" is not understood: allowed are %s, *, and , - / '
                                       'between', item, allowed);
            EXIT;
        END IF;
        ends := CASE WHEN part[1] IS NOT NULL THEN ARRAY[low, low + span - 1]
                     WHEN part[2] IS NOT NULL AND part[3] IS NULL THEN ARRAY[low, hashed_high]
                     ELSE (SELECT pg_catalog.array_agg(
                                      CASE WHEN u.value ~ '^[0-9]+$'
                                           THEN least(u.value::numeric, 9999::numeric)::integer
                                           ELSE pg_catalog.array_position(
                                                    names, pg_catalog.lower(u.value)) + low - 1 END
                                      ORDER BY u.number)
                             FROM (VALUES (1, coalesce(part[3], part[5])),
                                          (2, coalesce(part[4], part[6], part[5])))
                                  u (number, value)) END;
        -- fri-sun: a week may end on the Sunday that is 7
        IF place = 4 AND coalesce(part[4], part[6]) !~ '^[0-9]' AND ends[2] = 0
           AND ends[1] > 0 THEN
            ends[2] := 7;
        END IF;
        step := CASE WHEN pg_catalog.length(part[7]) > 4 THEN 9999
                     ELSE coalesce(part[7]::integer, 1) END;
        wrong := CASE
            WHEN NOT coalesce(ends[1] BETWEEN low AND high AND ends[2] BETWEEN low AND high, false)
                THEN pg_catalog.format('"%s" is invalid: allowed are %s', item, allowed)
            WHEN ends[1] > ends[2]
                THEN pg_catalog.format('the range %s runs backwards: write it as two, with a comma',
                                       item)
            WHEN part[7] IS NOT NULL AND part[5] IS NOT NULL AND part[6] IS NULL
                THEN pg_catalog.format('a step needs a range: write %s-%s/%s', part[5], high,
                                       part[7])
            WHEN step NOT BETWEEN 1 AND span
                THEN pg_catalog.format('the step after the / is out of range: allowed are 1 to %s',
                                       span)
            WHEN part[2] IS NOT NULL AND job IS NULL
                THEN 'H is derived from the name of a job, and here is none'
            WHEN part[2] IS NOT NULL AND step > ends[2] - ends[1] + 1
                THEN pg_catalog.format('the step of H is %s, but its range has %s numbers', step,
                                       ends[2] - ends[1] + 1) END;
        EXIT WHEN wrong IS NOT NULL;
        IF part[2] IS NOT NULL THEN
            ends[1] := ends[1] + rowlock.cron_hash(place, job, CASE WHEN part[7] IS NULL
                                                   THEN ends[2] - ends[1] + 1 ELSE step END);
            IF part[7] IS NULL THEN
                ends[2] := ends[1];
            END IF;
            item := CASE WHEN ends[1] = ends[2] THEN ends[1]::text
                         ELSE ends[1]::text || '-' || ends[2]::text || '/' || step::text END;
        END IF;
        normal := normal || CASE WHEN normal = '' THEN '' ELSE ',' END || pg_catalog.lower(item);
        FOR i IN ends[1] .. ends[2] BY step LOOP
            numbers := numbers | (1::bigint << CASE WHEN place = 4 THEN i % 7 ELSE i END);
        END LOOP;
    END LOOP;
    IF field = '' OR wrong IS NOT NULL THEN
        RAISE EXCEPTION 'rowlock: %: %', what, coalesce(wrong, 'a value is missing')
            USING ERRCODE = '22023';
    END IF;
END $$;

-- The first minute of wall time at or after `minute` (step 1), or the last at or before it (step
-- -1), that matches; in minutes since 1970. sets: the five fields; any_day: day of month or day of
-- week begins with '*'. NULL: none within 400 years.
CREATE FUNCTION rowlock.cron_seek(sets bigint[], any_day boolean, minute bigint, step integer)
RETURNS bigint LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    day integer := pg_catalog.floor(minute::numeric / 1440::numeric)::integer;
    last constant integer := day + step * 146130;
    in_day integer := (minute - day::bigint * 1440::bigint)::integer;
    hour integer;
    at date;
    of_month boolean;
    of_week boolean;
BEGIN
    WHILE (last - day) * step >= 0 LOOP
        at := date '1970-01-01' + day;
        IF sets[4] >> extract(month FROM at)::integer & 1::bigint = 0::bigint THEN
            day := CASE WHEN step > 0
                        THEN (pg_catalog.date_trunc('month', at::timestamp)
                              + interval '1 month')::date
                        ELSE pg_catalog.date_trunc('month', at::timestamp)::date - 1 END
                   - date '1970-01-01';
            in_day := CASE WHEN step > 0 THEN 0 ELSE 1439 END;
            CONTINUE;
        END IF;
        of_month := sets[3] >> extract(day FROM at)::integer & 1::bigint = 1::bigint;
        of_week := sets[5] >> extract(dow FROM at)::integer & 1::bigint = 1::bigint;
        IF of_month AND of_week OR NOT any_day AND (of_month OR of_week) THEN
            hour := in_day / 60;
            in_day := in_day % 60;
            WHILE hour BETWEEN 0 AND 23 LOOP
                WHILE sets[2] >> hour & 1::bigint = 1::bigint AND in_day BETWEEN 0 AND 59 LOOP
                    IF sets[1] >> in_day & 1::bigint = 1::bigint THEN
                        RETURN day::bigint * 1440::bigint + (hour * 60 + in_day)::bigint;
                    END IF;
                    in_day := in_day + step;
                END LOOP;
                hour := hour + step;
                in_day := CASE WHEN step > 0 THEN 0 ELSE 59 END;
            END LOOP;
        END IF;
        day := day + step;
        in_day := CASE WHEN step > 0 THEN 0 ELSE 1439 END;
    END LOOP;
    RETURN NULL;
END $$;

-- The seconds by which the zone is east of UTC at that second. STABLE, as the server's zones are.
CREATE FUNCTION rowlock.zone_offset(zone text, at bigint) RETURNS bigint
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN CASE
        WHEN zone = 'UTC' THEN 0::bigint
        WHEN zone ~ '^[+-]' THEN extract(epoch FROM zone::interval)::bigint
        ELSE extract(epoch FROM pg_catalog.timezone(
                 zone, pg_catalog.to_timestamp(at::double precision)))::bigint - at END;
END $$;

-- The second at which the zone's offset changes: the first in (at, until] (step 1), or the last in
-- (until, at] (step -1). NULL: it does not change. Two changes within a day that cancel each other
-- are not seen.
CREATE FUNCTION rowlock.zone_change(zone text, at bigint, until bigint, step integer)
RETURNS bigint LANGUAGE plpgsql STABLE AS $$
DECLARE
    here constant bigint := rowlock.zone_offset(zone, at);
    near bigint := at;
    far bigint := at;
    middle bigint;
BEGIN
    IF zone = 'UTC' OR zone ~ '^[+-]' THEN
        RETURN NULL;
    END IF;
    WHILE rowlock.zone_offset(zone, far) = here LOOP
        IF far = until THEN
            RETURN NULL;
        END IF;
        near := far;
        far := CASE WHEN step > 0 THEN least(until, far + 86400::bigint)
                    ELSE greatest(until, far - 86400::bigint) END;
    END LOOP;
    WHILE pg_catalog.abs(far - near) > 1::bigint LOOP
        middle := (near + far) / 2::bigint;
        IF rowlock.zone_offset(zone, middle) = here THEN
            near := middle;
        ELSE
            far := middle;
        END IF;
    END LOOP;
    RETURN greatest(near, far);
END $$;

-- The milliseconds of a period such as "1h30m", the larger unit first, or "90" (seconds); each part
-- is rounded up. NULL: it is none.
CREATE FUNCTION rowlock.period_of(duration text) RETURNS bigint LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    part constant text[] := pg_catalog.regexp_match(duration, '^(?=[0-9])'
        '(?:([0-9]+(?:\.[0-9]+)?)w)?(?:([0-9]+(?:\.[0-9]+)?)d)?(?:([0-9]+(?:\.[0-9]+)?)h)?'
        '(?:([0-9]+(?:\.[0-9]+)?)m(?!s))?(?:([0-9]+(?:\.[0-9]+)?)(?:s|$))?'
        '(?:([0-9]+(?:\.[0-9]+)?)ms)?$');
    units constant numeric[] := ARRAY[604800000, 86400000, 3600000, 60000, 1000, 1];
    ms numeric := 0;
BEGIN
    FOR i IN 1 .. 6 LOOP
        ms := ms + coalesce(pg_catalog.ceil(part[i]::numeric * units[i]), 0::numeric);
    END LOOP;
    -- only a single number may lack its unit
    RETURN CASE WHEN ms BETWEEN 1::numeric AND 9223372036854775807::numeric
                     AND (duration ~ '[a-z]$' OR duration ~ '^[0-9.]+$') THEN ms::bigint END;
END $$;

-- The normal form of a schedule: "every 5m", or a cron line, five fields or "@daily" and the like,
-- in the time zone `zone`. job: the name of the job, for H.
CREATE FUNCTION rowlock.read_schedule(line text, zone text, job text) RETURNS text
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    units constant text[] := ARRAY['w', 'd', 'h', 'm', 's', 'ms'];
    sizes constant bigint[] := ARRAY[604800000, 86400000, 3600000, 60000, 1000, 1];
    field text[] := pg_catalog.regexp_split_to_array(
        pg_catalog.btrim(line, E' \t'), E'[ \t]+');
    period bigint;
    one record;
    zone_before constant text := pg_catalog.current_setting('TimeZone');
    canonical text;
    sets bigint[];
    normal text;
BEGIN
    IF field[1] = 'every' THEN
        period := CASE WHEN pg_catalog.array_length(field, 1) = 2
                       THEN rowlock.period_of(field[2]) END;
        IF period IS NULL THEN
            RAISE EXCEPTION 'rowlock: "%" is not a period: write it as in every 90s, every 5m, '
                'every 1h30m, every 1d', line USING ERRCODE = '22023';
        END IF;
        normal := 'every ';
        FOR i IN 1 .. 6 LOOP
            IF period >= sizes[i] THEN
                normal := normal || (period / sizes[i])::text || units[i];
                period := period % sizes[i];
            END IF;
        END LOOP;
        RETURN normal;
    END IF;
    IF field[1] ~ '^@' AND pg_catalog.array_length(field, 1) = 1 THEN
        field := CASE pg_catalog.lower(field[1])
            WHEN '@yearly' THEN ARRAY['0', '0', '1', '1', '*']
            WHEN '@annually' THEN ARRAY['0', '0', '1', '1', '*']
            WHEN '@monthly' THEN ARRAY['0', '0', '1', '*', '*']
            WHEN '@weekly' THEN ARRAY['0', '0', '*', '*', '0']
            WHEN '@daily' THEN ARRAY['0', '0', '*', '*', '*']
            WHEN '@midnight' THEN ARRAY['0', '0', '*', '*', '*']
            WHEN '@hourly' THEN ARRAY['0', '*', '*', '*', '*']
            ELSE field END;
    END IF;
    IF coalesce(pg_catalog.array_length(field, 1), 0) <> 5 THEN
        RAISE EXCEPTION 'rowlock: "%" is not a schedule: allowed are the five fields minute, hour, '
            'day of month, month, day of week; @yearly, @annually, @monthly, @weekly, @daily, '
            '@midnight, @hourly; and periods as in every 5m', line USING ERRCODE = '22023';
    END IF;
    normal := 'cron';
    FOR i IN 0 .. 4 LOOP
        SELECT * INTO one FROM rowlock.cron_field(field[i + 1], i, job);
        normal := normal || ' ' || one.normal;
        sets[i + 1] := one.numbers;
    END LOOP;
    IF pg_catalog.octet_length(normal) > 260 THEN
        RAISE EXCEPTION 'rowlock: the schedule is too long: 255 bytes are allowed'
            USING ERRCODE = '22023';
    ELSIF rowlock.cron_seek(sets, field[3] ~ '^\*' OR field[5] ~ '^\*', 0, 1) IS NULL THEN
        RAISE EXCEPTION 'rowlock: day of month: never comes in the months of this schedule'
            USING ERRCODE = '22023';
    END IF;
    zone := coalesce(zone, 'UTC');
    IF zone !~ ('^([+-](([01][0-9]|2[0-5]):[0-5][0-9]|26:00)|'
                '[A-Za-z][A-Za-z0-9_+/-]*)$') THEN
        RAISE EXCEPTION 'rowlock: "%" is not a time zone: write it as in UTC, +02:00 or '
            'Europe/Berlin; an offset is 26:00 at most', zone USING ERRCODE = '22023';
    ELSIF zone <> 'UTC' AND zone !~ '^[+-]' THEN
        PERFORM pg_catalog.set_config('TimeZone', zone, true);
        canonical := pg_catalog.current_setting('TimeZone');
        PERFORM pg_catalog.set_config('TimeZone', zone_before, true);
        IF zone <> canonical COLLATE "C" THEN
            RAISE EXCEPTION 'rowlock: time zone % is unknown: capitals matter, as in %', zone,
                canonical USING ERRCODE = '22023';
        END IF;
    END IF;
    RETURN normal || ' ' || zone;
END $$;

-- The due time after `at` (step 1), or the last one up to it (step -1), in milliseconds;
-- 9223372036854775807: none. schedule: the normal form.
CREATE FUNCTION rowlock.due(schedule text, at bigint, step integer) RETURNS bigint
LANGUAGE plpgsql STABLE AS $$
DECLARE
    never constant bigint := 9223372036854775807;
    last constant bigint := 253402300800;  -- the year 10000
    most_offset constant bigint := 93600;
    word constant text[] := pg_catalog.string_to_array(schedule, ' ');
    zone constant text := word[7];
    period constant bigint := CASE WHEN word[1] = 'every' THEN rowlock.period_of(word[2]) END;
    sets bigint[];
    any_day constant boolean := word[4] ~ '^\*' OR word[6] ~ '^\*';
    now_ bigint := pg_catalog.floor(at::numeric / 1000::numeric)::bigint;
    offset_ bigint;
    latest bigint;
    change bigint;
    minute bigint;
    wall bigint;
    due bigint;
BEGIN
    IF period IS NOT NULL THEN
        due := (pg_catalog.floor(at::numeric / period::numeric)::bigint
                + (step > 0)::integer::bigint);
        RETURN CASE WHEN due > never / period THEN never ELSE due * period END;
    END IF;
    IF step > 0 AND now_ >= last THEN
        RETURN never;
    END IF;
    now_ := least(now_, last - 1::bigint);
    FOR i IN 0 .. 4 LOOP
        sets[i + 1] := (rowlock.cron_field(word[i + 2], i, NULL)).numbers;
    END LOOP;
    IF word[2] ~ '^\*' OR word[3] ~ '^\*' THEN -- it follows real time
        now_ := now_ + (step > 0)::integer::bigint;
        LOOP
            offset_ := rowlock.zone_offset(zone, now_);
            minute := rowlock.cron_seek(sets, any_day, pg_catalog.floor(
                (now_ + offset_ + CASE WHEN step > 0 THEN 59 ELSE 0 END)::numeric
                / 60::numeric)::bigint, step);
            due := minute * 60::bigint - offset_;
            EXIT WHEN due IS NULL;
            change := rowlock.zone_change(zone, now_, due, step);
            EXIT WHEN change IS NULL;
            now_ := CASE WHEN step > 0 THEN change ELSE change - 1::bigint END;
        END LOOP;
    ELSE -- a wall time is due when the clocks first show it, or a later one
        latest := now_ + rowlock.zone_offset(zone, now_);
        change := now_;
        LOOP -- the latest wall time that the clocks have shown
            change := rowlock.zone_change(zone, change, now_ - 2::bigint * most_offset, -1);
            EXIT WHEN change IS NULL;
            change := change - 1::bigint;
            latest := greatest(latest, change + rowlock.zone_offset(zone, change));
        END LOOP;
        wall := 60::bigint * rowlock.cron_seek(sets, any_day,
            pg_catalog.floor(latest::numeric / 60::numeric)::bigint
            + (step > 0)::integer::bigint, step);
        now_ := wall - most_offset;
        LOOP
            EXIT WHEN wall IS NULL;
            change := rowlock.zone_change(zone, now_, wall + most_offset, 1);
            due := greatest(now_, wall - rowlock.zone_offset(zone, now_));
            EXIT WHEN change IS NULL OR due < change;
            now_ := change;
        END LOOP;
    END IF;
    RETURN CASE WHEN due < last THEN due * 1000::bigint
                ELSE never END;
END $$;
