-- ?1 name, ?2 version, ?3 description, ?4 host, ?5 pid, ?6 program, ?7 error
INSERT INTO rowlock_subject (name) SELECT ?1 WHERE ?2 = 1 ON CONFLICT DO NOTHING;
UPDATE rowlock_subject
   SET version = ?2, status = 'ERROR', began = NULL, description = coalesce(?3, description),
       host = ?4, pid = ?5, program = ?6, token = 0, error = ?7, exit = NULL, ended = {now}
 WHERE name = ?1 AND (version = ?2 - 1 OR version = ?2 AND status = 'PROCESSING' AND token = 0);
SELECT changes() AS number;
