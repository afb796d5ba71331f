-- SPDX-License-Identifier: Apache-2.0
-- Gives the session lock of $2 back, if this is session $3 and has it: 1.
SELECT CASE WHEN $1::integer IN (0, 1) AND rowlock.is_own($3::bigint) AND rowlock.drop_mark($2::bigint) THEN 1 ELSE 0 END;
