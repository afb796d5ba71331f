-- SPDX-License-Identifier: Apache-2.0
-- Takes the session lock of $2, a ticket ($1 = 0) or a token ($1 = 1), if it is free and this is
-- session $3.
SELECT CASE WHEN $1::integer IN (0, 1) AND rowlock.is_own($3::bigint)
    AND rowlock.session_lock($2::bigint) THEN 1 ELSE 0 END;
