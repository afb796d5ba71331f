-- SPDX-License-Identifier: Apache-2.0
-- Releases the session lock that remains from a grant or a ticket that was rolled back.
SELECT rowlock.session_unlock_lost();
