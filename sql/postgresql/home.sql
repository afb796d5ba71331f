-- SPDX-License-Identifier: Apache-2.0
-- Where an unqualified CREATE TABLE goes, and so where the article's own statements look.
SELECT pg_catalog.quote_ident(coalesce(current_schema(), 'public')) || '.';
