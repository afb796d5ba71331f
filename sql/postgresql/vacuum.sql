-- SPDX-License-Identifier: Apache-2.0
SELECT rowlock.vacuum();
