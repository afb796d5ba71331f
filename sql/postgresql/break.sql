-- SPDX-License-Identifier: Apache-2.0
SELECT rowlock.break({given $1}, $2::bigint, $3::integer <> 0);
