-- Texts are returned as bytes: a character that the session's encoding lacks would raise an error
-- and end the transaction.
SELECT status, {read_text name}, stays, {read_text detail}
  FROM rowlock.lock($1::text, $2::bigint, $3::bigint, $4::integer);
