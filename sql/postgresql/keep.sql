SELECT rowlock.prepare(w.name) FROM rowlock.unpack($1::text) w;
