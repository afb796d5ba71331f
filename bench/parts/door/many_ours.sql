-- SPDX-License-Identifier: Apache-2.0
\set n random(1, 100000)
SELECT rowlock.exclusive('bond' || :n::integer);
