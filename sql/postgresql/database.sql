-- SPDX-License-Identifier: Apache-2.0
-- The database of this session, which the URL need not name: libpq then takes the user's name.
SELECT pg_catalog.current_database()::text;
