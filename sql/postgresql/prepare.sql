SELECT rowlock.create_name(w.name) FROM rowlock.unpack($1::text) w;
