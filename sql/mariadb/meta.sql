-- Reads the version and the technique of the installed schema.
SELECT version, technique, object, id_width FROM rowlock_meta;
