-- Texts are returned as bytes: a character that the session's encoding lacks would raise an error
-- and end the transaction.
SELECT l.status, {read_text l.name}, l.stays, {read_text l.detail}
  FROM {wants $1::text} w,
       rowlock.lock(w.names, w.modes, w.tokens, $2::bigint, $3::bigint, $4::integer <> 0) l;
