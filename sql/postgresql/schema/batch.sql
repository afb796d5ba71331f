-- SPDX-License-Identifier: Apache-2.0
-- Group commit: the releases and grants that several threads of one process request at the same
-- time, in one transaction on a shared session. It waits for no lock, except briefly for a row,
-- because one waiter would delay all others. The library repeats a request that was not granted in
-- a transaction of its own.

-- Takes the session locks of several numbers.
CREATE FUNCTION rowlock.session_lock_all(numbers bigint[]) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    PERFORM rowlock.session_lock(u.number) FROM pg_catalog.unnest(numbers) u (number);
END $$;

-- Ends the leases listed as TOKEN:HEX(name):owner and returns the tokens of those that existed. It
-- deletes in the order of tokens, as a sweep does, so that the two never deadlock. It waits only
-- briefly for a fence or a renewal that holds one of the rows.
CREATE FUNCTION rowlock.release_batch(ended text[]) RETURNS text LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    each record;
    gone text;
BEGIN
    PERFORM pg_catalog.set_config('lock_timeout', '20', true);
    FOR each IN
        SELECT pg_catalog.split_part(t.lease, ':', 1)::bigint AS token,
               {from_hex nullif(pg_catalog.split_part(t.lease, ':', 2), '')} AS name,
               nullif(pg_catalog.split_part(t.lease, ':', 3), '') AS owner
          FROM pg_catalog.unnest(ended) t (lease) ORDER BY 1
    LOOP
        IF rowlock.remove_lease(each.token, each.name, each.owner) THEN
            gone := pg_catalog.concat_ws(',', gone, each.token);
        END IF;
    END LOOP;
    PERFORM rowlock.session_unlock(pg_catalog.split_part(t.lease, ':', 1)::bigint)
       FROM pg_catalog.unnest(ended) t (lease);
    RETURN gone;
END $$;

-- Grants exclusive leases of one name each to all requests whose name is free and has no queue.
-- Returns place:token for each, the place in `wants`.
CREATE FUNCTION rowlock.grant_batch(wants text[], session bigint, host text) RETURNS text
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    taken text[];
    granted text;
    tokens bigint[];
BEGIN
    taken := ARRAY(SELECT w.place::text || ':' || w.want
                     FROM pg_catalog.unnest(wants) WITH ORDINALITY w (want, place)
                    WHERE rowlock.try_name_lock({from_hex pg_catalog.split_part(w.want, ':', 1)},
                                                false) = 0);
    WITH free AS MATERIALIZED (
             SELECT pg_catalog.nextval('rowlock.number') AS number,
                    greatest(pg_catalog.pg_sequence_last_value('rowlock.lifted'), s.token,
                             0::bigint) AS floor, o.quiet_ms, w.name, w.part
               FROM (SELECT {from_hex p.part[2]} AS name, p.part
                       FROM (SELECT pg_catalog.string_to_array(t.want, ':', '') AS part
                               FROM pg_catalog.unnest(taken) t (want)) p) w
               LEFT JOIN rowlock.least_token s ON s.name = w.name, rowlock.lift o
              WHERE {unheld w.name}
                AND NOT EXISTS (SELECT FROM rowlock.waiter q WHERE q.name = w.name OFFSET 0)),
         leases AS (
             INSERT INTO rowlock.lease (token, name, mode, owner, host, pid, command, note, expires,
                                        quiet_until)
             SELECT f.number, f.name, 'exclusive', f.part[3], grant_batch.host, f.part[5]::bigint,
                    {storable_hex f.part[6]}, {storable_hex f.part[7]},
                    pg_catalog.clock_timestamp() + {interval f.part[4]},
                    pg_catalog.clock_timestamp() + {interval f.quiet_ms}
               FROM free f WHERE f.number > f.floor AND {store_least f})
    SELECT pg_catalog.string_agg(f.part[1] || ':' || f.number::text, ','),
           pg_catalog.array_agg(f.number)
      INTO granted, tokens FROM free f WHERE f.number > f.floor;
    IF tokens IS NOT NULL AND session = pg_catalog.pg_backend_pid() THEN
        PERFORM rowlock.session_lock_all(tokens);
    END IF;
    RETURN granted;
END $$;

-- See dialect.h, batch. The generic plan is forced, because a custom plan for each array length
-- would cost more than the rest.
CREATE FUNCTION rowlock.batch(ended text, wants text, session bigint, host text, OUT gone text,
                              OUT granted text)
LANGUAGE plpgsql VOLATILE SET plan_cache_mode = force_generic_plan AS $$
BEGIN
    PERFORM rowlock.make_durable();
    IF ended <> '' THEN
        gone := rowlock.release_batch(pg_catalog.string_to_array(ended, ','));
    END IF;
    IF wants <> '' THEN
        granted := rowlock.grant_batch(pg_catalog.string_to_array(wants, ','), session, host);
    END IF;
END $$;
