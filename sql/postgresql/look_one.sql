-- SPDX-License-Identifier: Apache-2.0
-- A statement of its own, behind name_lock: it reads what was committed during the wait for the
-- lock.
SELECT
  {conflict}
  FROM rowlock.lease l WHERE l.name = $1::text COLLATE "C";
