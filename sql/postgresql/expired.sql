-- SPDX-License-Identifier: Apache-2.0
SELECT token FROM rowlock.expired($1::text) token;
