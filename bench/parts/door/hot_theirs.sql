-- SPDX-License-Identifier: Apache-2.0
SELECT pg_advisory_xact_lock(hashtextextended('x', 0));
