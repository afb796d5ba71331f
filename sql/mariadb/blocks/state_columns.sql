-- The state of a job: the columns of state_rows. The time is v_now_ms.
v_now_ms AS now_ms, COALESCE(j.version, 0) AS version, j.schedule, COALESCE(j.due, 0) AS due,
COALESCE(j.last, 0) AS last, COALESCE(j.failed, 0) AS failed, COALESCE(j.repeats, 0) AS repeats,
COALESCE(j.running, 0) AS running, COALESCE(r.outcome = 'broken', 0) AS broken,
h.free_ms IS NOT NULL AS held, COALESCE(h.free_ms, 0) AS free_ms,
COALESCE(r.outcome = 'not started', 0) AS not_started
