-- SPDX-License-Identifier: Apache-2.0
SELECT rowlock.expire({given $1});
