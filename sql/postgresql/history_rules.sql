-- SPDX-License-Identifier: Apache-2.0
-- Reads which ended leases the history keeps: level, and the milliseconds for good and bad ones.
SELECT CASE r.history WHEN 'off' THEN 0 WHEN 'problems' THEN 1 WHEN 'slow' THEN 2 ELSE 3 END,
       r.keep_good, r.keep_bad
  FROM rowlock.history_rules() r;
