-- SPDX-License-Identifier: Apache-2.0
-- Checks that the session is alive.
SELECT 1;
