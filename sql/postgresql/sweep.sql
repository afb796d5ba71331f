-- SPDX-License-Identifier: Apache-2.0
-- Deletes one expired lease in a transaction of its own.
SELECT rowlock.sweep($1::bigint);
