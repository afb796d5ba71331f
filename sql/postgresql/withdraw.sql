-- SPDX-License-Identifier: Apache-2.0
SELECT rowlock.withdraw($1::bigint, $2::text);
