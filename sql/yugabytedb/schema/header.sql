-- SPDX-License-Identifier: Apache-2.0
-- rowlock's schema, version {schema_version}, for YugabyteDB. It is based on YugabyteDB's
-- documentation, and not tested on a live cluster. Run it by hand, one person at a time:
-- ysqlsh -v ON_ERROR_STOP=1 -f this_file
BEGIN;
