SELECT version, technique, object, id_width, owned FROM rowlock_meta;
