-- SPDX-License-Identifier: Apache-2.0
-- Is the session there?
SELECT 1;
