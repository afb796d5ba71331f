-- SPDX-License-Identifier: Apache-2.0
\set n random(1, 100000)
SELECT pg_advisory_xact_lock(hashtextextended('bond' || :n::integer, 0));
