-- SPDX-License-Identifier: Apache-2.0
-- What is installed.
SELECT version, technique, object, id_width, owned::integer FROM rowlock.meta;
