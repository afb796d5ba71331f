-- Reads the version of the installed schema and its technique: 'plain', or that of a schema with
-- functions on the server.
SELECT version, technique, '', 0 FROM rowlock_meta;
