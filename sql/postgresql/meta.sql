-- SPDX-License-Identifier: Apache-2.0
-- Reads the version and the technique of the installed schema.
SELECT version, technique, object, id_width, owned::integer FROM rowlock.meta;
