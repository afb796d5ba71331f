SELECT version, technique, object, id_width FROM rowlock_meta;
