SELECT CASE WHEN $1::integer IN (0, 1) AND rowlock.is_own($3::bigint)
    AND rowlock.session_lock($2::bigint) THEN 1 ELSE 0 END;
