-- Directly after BEGIN: it does not sweep, and does not wait for a lease.
SELECT l.status, {read_text l.name}, l.stays, {read_text l.detail}
  FROM {wants $1::text} w, rowlock.lock(w.names, w.modes, w.tokens, $2::bigint, 0, false) l;
