-- SPDX-License-Identifier: Apache-2.0
SELECT rowlock.sweep($1::bigint);
