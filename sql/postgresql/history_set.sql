-- SPDX-License-Identifier: Apache-2.0
-- Sets which ended leases the history keeps: $1 level, $2 and $3 the milliseconds for good and bad
-- ones.
INSERT INTO rowlock.setting (history, keep_good, keep_bad)
VALUES ((ARRAY['off', 'problems', 'slow', 'all'])[$1::bigint + 1], $2::bigint, $3::bigint)
    ON CONFLICT ((true)) DO UPDATE
   SET history = excluded.history, keep_good = excluded.keep_good, keep_bad = excluded.keep_bad;
