-- SPDX-License-Identifier: Apache-2.0
SELECT rowlock.prune($1::bigint);
