-- SPDX-License-Identifier: Apache-2.0
-- Gives back the session lock that a grant or a ticket has left when it was rolled back.
SELECT rowlock.drop_lost_mark();
