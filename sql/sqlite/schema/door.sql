-- Views for people and other programs, in plain SQL. The first ones show the state. The others
-- accept INSERT, which acts on leases in the caller's transaction (docs/sqlite.md), and store no
-- rows. A refusal is an error that undoes the statement: then ROLLBACK.

-- Milliseconds since 1970 UTC.
CREATE VIEW IF NOT EXISTS rowlock_clock AS
SELECT {now} AS now;

-- Leases; SQLite does not show transactions. broken: the lease gets no further renewal.
CREATE VIEW IF NOT EXISTS rowlock_holders AS
SELECT lease.name, 'lease' AS kind, lease.mode, lease.token,
       CASE lease.mode WHEN 'permit' THEN count(*) END AS permits, lease."limit", lease.pid,
           lease.host,
       lease.command AS program, lease.note,
       {time min(lease.acquired)} AS since,
       {time heartbeat.expires} AS expires,
       heartbeat.stop AS broken,
       (SELECT count(*) FROM rowlock_waiter AS waiter
         WHERE waiter.name = lease.name AND waiter.alive_until > clock.now) AS waiting
  FROM rowlock_lease AS lease JOIN rowlock_heartbeat AS heartbeat ON heartbeat.token = lease.token,
       rowlock_clock AS clock
 WHERE heartbeat.expires > clock.now
 GROUP BY lease.token, lease.name;

-- Waiters in the queue for a lease; place 1 is next.
CREATE VIEW IF NOT EXISTS rowlock_waiters AS
SELECT waiter.name, 'lease' AS kind, waiter.mode, waiter.ticket,
       row_number() OVER (PARTITION BY waiter.name ORDER BY waiter.ticket) AS place,
       CASE waiter.mode WHEN 'permit' THEN waiter.count END AS permits, waiter."limit", waiter.pid,
           waiter.host,
       waiter.command AS program, waiter.note,
       {time waiter.since} AS since
  FROM rowlock_waiter AS waiter, rowlock_clock AS clock
 WHERE waiter.alive_until > clock.now;

CREATE VIEW IF NOT EXISTS rowlock_names AS
SELECT known.name, 0 AS kept,
       EXISTS (SELECT 1 FROM rowlock_holders AS holder WHERE holder.name = known.name) AS leased
  FROM (SELECT name FROM rowlock_lease UNION SELECT name FROM rowlock_waiter
        UNION SELECT 'counter:' || name FROM rowlock_counter
        UNION SELECT 'job:' || name FROM rowlock_job
        UNION SELECT 'subject:' || name FROM rowlock_subject) AS known;

-- Each job with its current run, or its latest. due NULL: never again.
CREATE VIEW IF NOT EXISTS rowlock_jobs AS
SELECT job.name, job.schedule,
       {time nullif(job.due, 9223372036854775807)} AS due,
       CASE WHEN run.token IS NULL THEN 'never run'
            WHEN job.running <> run.token THEN run.outcome
            WHEN heartbeat.token IS NOT NULL THEN CASE WHEN heartbeat.stop THEN 'broken'
            ELSE 'running' END
            WHEN run.outcome IN ('broken', 'not started') THEN run.outcome ELSE 'lost' END AS state,
       nullif(job.running, 0) AS token, run.node, run.pid, run.repeats,
       {time run.started} AS started,
       {time nullif(run.finished, 0)} AS finished,
       CASE WHEN run.finished > 0 THEN run.exit END AS exit, run.output,
       {time nullif(job.failed, 0)} AS failed,
       (SELECT {time min(pause.acquired)} FROM rowlock_lease AS pause
          JOIN rowlock_heartbeat AS pausing ON pausing.token = pause.token
         WHERE pause.name = 'job:' || job.name AND pause.pid IS NULL
           AND pausing.expires > clock.now) AS paused,
       {time nullif(job.last_success, 0)} AS last_success,
       job.runs_done, job.runs_failed, job.runs_timed_out, job.runs_broken, job.runs_lost,
       job.runs_late, job.runs_not_started
  FROM rowlock_job AS job, rowlock_clock AS clock
  LEFT JOIN rowlock_run AS run
    ON run.token = coalesce(nullif(job.running, 0),
                            (SELECT max(other.token) FROM rowlock_run AS other
                             WHERE other.job = job.name))
  LEFT JOIN rowlock_heartbeat AS heartbeat
    ON heartbeat.token = job.running AND heartbeat.expires > clock.now;

-- updated and age_ms: of the present data; NULL: there is none, or it has expired.
CREATE VIEW IF NOT EXISTS rowlock_subjects AS
SELECT subject.name, subject.description,
       CASE WHEN subject.died THEN 'ERROR' ELSE subject.status END AS status,
       {time subject.began} AS began,
       {time subject.ended} AS ended,
       CASE WHEN subject.counts
            THEN {time subject.updated} END
                AS updated,
       CASE WHEN subject.counts THEN max(subject.now - subject.updated, 0) END AS age_ms,
       subject.basis IS NOT NULL AS made, subject.program, subject.host, subject.pid,
       CASE WHEN subject.died THEN 'its holder died' ELSE subject.error END AS error, subject.exit
  FROM (SELECT s.*, clock.now, coalesce(s.basis > coalesce(e.expired, -1), 0) AS counts,
               s.status = 'PROCESSING' AND NOT EXISTS (
                   SELECT 1 FROM rowlock_heartbeat AS heartbeat
                    WHERE heartbeat.token = s.token AND heartbeat.expires > clock.now) AS died
          FROM rowlock_subject AS s LEFT JOIN rowlock_expiry AS e ON e.name = s.name,
               rowlock_clock AS clock) AS subject;

-- Views that accept INSERT ------------------------------------------------------------------------

-- Locks a name in the open transaction. BEGIN IMMEDIATE has taken the write lock before, so this
-- only checks the leases, as the library does. token: of the caller's own lease on that name; NULL:
-- none.
CREATE VIEW IF NOT EXISTS rowlock_lock AS SELECT NULL AS name, NULL AS shared, NULL AS token
    WHERE 0;
CREATE TRIGGER IF NOT EXISTS rowlock_lock_it INSTEAD OF INSERT ON rowlock_lock BEGIN
    -- a BLOB equals no text: it would be another name
    SELECT RAISE(ABORT, 'rowlock: a name must be text of 1 to 255 bytes')
     WHERE typeof(NEW.name) = 'blob'
       OR coalesce(length(CAST(NEW.name AS BLOB)), 0) NOT BETWEEN 1 AND 255;
    {end_expired conflicts};
    SELECT RAISE(ABORT,
                 'rowlock: the token is not, or no longer, of a lease of this name for this lock')
     WHERE coalesce(NEW.token, 0) <> 0
       AND NOT EXISTS (SELECT 1 FROM rowlock_lease
                        WHERE token = NEW.token AND name = NEW.name
                          AND (mode = 'exclusive' OR NEW.shared AND mode = 'shared'));
    SELECT RAISE(ABORT, 'rowlock: the name is leased; rowlock_holders shows the holder')
     WHERE EXISTS (SELECT 1 FROM rowlock_lease
                    WHERE {conflicts});
    SELECT RAISE(ABORT, 'rowlock: a committed row holds the name; rowlock vacuum deletes it')
     WHERE EXISTS (SELECT 1 FROM rowlock_leftover WHERE name = NEW.name);
END;

CREATE VIEW IF NOT EXISTS rowlock_exclusive AS SELECT NULL AS name, NULL AS token WHERE 0;
CREATE TRIGGER IF NOT EXISTS rowlock_exclusive_lock INSTEAD OF INSERT ON rowlock_exclusive BEGIN
    INSERT INTO rowlock_lock (name, shared, token) VALUES (NEW.name, 0, NEW.token);
END;

CREATE VIEW IF NOT EXISTS rowlock_shared AS SELECT NULL AS name, NULL AS token WHERE 0;
CREATE TRIGGER IF NOT EXISTS rowlock_shared_lock INSTEAD OF INSERT ON rowlock_shared BEGIN
    INSERT INTO rowlock_lock (name, shared, token) VALUES (NEW.name, 1, NEW.token);
END;

-- Checks that the token is that of a lease of this name. It stays valid until the transaction ends,
-- because no other session can write until then.
CREATE VIEW IF NOT EXISTS rowlock_fence AS SELECT NULL AS name, NULL AS token WHERE 0;
CREATE TRIGGER IF NOT EXISTS rowlock_fence_it INSTEAD OF INSERT ON rowlock_fence BEGIN
    UPDATE rowlock_lease SET owner = owner WHERE token = NEW.token AND name = NEW.name;
    SELECT RAISE(ABORT, 'rowlock: the token is not, or no longer, that of a lease of this name')
     WHERE NOT EXISTS (SELECT 1 FROM rowlock_lease WHERE token = NEW.token AND name = NEW.name);
END;

-- Acquires a lease without waiting; its token is rowlock_number.last until COMMIT. mode NULL:
-- exclusive, or a permit if there is a limit.
CREATE VIEW IF NOT EXISTS rowlock_acquire AS
SELECT NULL AS name, NULL AS ttl_ms, NULL AS mode, NULL AS "limit", NULL AS host, NULL AS note
 WHERE 0;
CREATE TRIGGER IF NOT EXISTS rowlock_acquire_it INSTEAD OF INSERT ON rowlock_acquire BEGIN
    -- a BLOB equals no text: it would be another name
    SELECT RAISE(ABORT, 'rowlock: a name must be text of 1 to 255 bytes')
     WHERE typeof(NEW.name) = 'blob'
       OR coalesce(length(CAST(NEW.name AS BLOB)), 0) NOT BETWEEN 1 AND 255;
    SELECT RAISE(ABORT,
                 'rowlock: ttl_ms must be an integer from 1000 to 3162240000000 (milliseconds)')
     WHERE typeof(NEW.ttl_ms) <> 'integer' OR NEW.ttl_ms NOT BETWEEN 1000 AND 3162240000000;
    SELECT RAISE(ABORT,
                 'rowlock: mode must be exclusive or shared, or permit with a limit of 1 or more')
     WHERE CASE WHEN NEW."limit" IS NULL THEN coalesce(NEW.mode, 'exclusive') NOT IN ('exclusive',
                                                                                      'shared')
                ELSE typeof(NEW."limit") <> 'integer' OR NEW."limit" < 1
                    OR coalesce(NEW.mode, 'permit') <> 'permit'
                END;
    {end_expired of_the_name};
    DELETE FROM rowlock_waiter
     WHERE ticket IN (SELECT ticket FROM rowlock_waiter
                       WHERE name = NEW.name AND alive_until <= (SELECT now FROM rowlock_clock));
    SELECT RAISE(ABORT, 'rowlock: the name is held or waited for with another limit')
     WHERE EXISTS (SELECT 1 FROM rowlock_lease WHERE name = NEW.name AND "limit" <> NEW."limit"
                   UNION ALL
                   SELECT 1 FROM rowlock_waiter WHERE name = NEW.name AND "limit" <> NEW."limit");
    SELECT RAISE(ABORT, 'rowlock: the name is leased; rowlock_holders shows the holder')
     WHERE EXISTS (SELECT 1 FROM rowlock_lease
                    WHERE name = NEW.name
                      AND CASE WHEN NEW."limit" IS NOT NULL THEN mode <> 'permit'
                               ELSE NEW.mode IS NOT 'shared' OR mode <> 'shared' END)
        OR (SELECT count(*) FROM rowlock_lease
            WHERE name = NEW.name AND mode = 'permit') >= NEW."limit";
    SELECT RAISE(ABORT, 'rowlock: other sessions wait for the name; rowlock_waiters lists them')
     WHERE EXISTS (SELECT 1 FROM rowlock_waiter WHERE name = NEW.name);
    SELECT RAISE(ABORT, 'rowlock: a committed row holds the name; rowlock vacuum deletes it')
     WHERE EXISTS (SELECT 1 FROM rowlock_leftover WHERE name = NEW.name);
    UPDATE rowlock_number SET last = max(last + 1, (SELECT now FROM rowlock_clock) * 1000);
    INSERT INTO rowlock_lease (token, name, mode, "limit", owner, host, command, note, acquired)
    SELECT number.last, NEW.name,
           CASE WHEN NEW."limit" IS NULL THEN coalesce(NEW.mode, 'exclusive') ELSE 'permit' END,
               NEW."limit",
           lower(hex(randomblob(16))), coalesce(NEW.host, '-'), 'sql', NEW.note, clock.now
      FROM rowlock_number AS number, rowlock_clock AS clock;
    INSERT INTO rowlock_heartbeat (token, expires)
    SELECT number.last, clock.now + NEW.ttl_ms FROM rowlock_number AS number,
           rowlock_clock AS clock;
END;
