-- SPDX-License-Identifier: Apache-2.0
SELECT rowlock.complete_subject({given $1}, $2::bigint);
