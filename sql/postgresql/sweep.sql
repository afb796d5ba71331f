-- SPDX-License-Identifier: Apache-2.0
-- Removes one expired lease; a transaction of its own.
SELECT rowlock.sweep($1::bigint);
