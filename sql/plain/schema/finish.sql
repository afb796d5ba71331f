-- Writes the version after an upgrade.

UPDATE rowlock_meta SET version = {schema_version};
