-- SPDX-License-Identifier: Apache-2.0
SELECT rowlock.overtake($1::text, $2::bigint, $3::bigint, $4::bigint);
