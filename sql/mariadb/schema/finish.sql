-- The last statement of an install: with this row the schema counts as installed. The technique's
-- piece has set the values.
INSERT INTO rowlock_meta (version, technique, object, id_width, owned)
    VALUES ({schema_version}, @rowlock_technique, @rowlock_table, @rowlock_width, @rowlock_owned)
    ON DUPLICATE KEY UPDATE version = VALUES(version), technique = VALUES(technique),
        object = VALUES(object), id_width = VALUES(id_width), owned = VALUES(owned);
