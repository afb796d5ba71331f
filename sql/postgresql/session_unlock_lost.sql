-- SPDX-License-Identifier: Apache-2.0
SELECT rowlock.session_unlock_lost();
