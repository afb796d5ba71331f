SELECT version, technique, object, id_width, CASE WHEN owned THEN 1 ELSE 0 END FROM rowlock.meta;
