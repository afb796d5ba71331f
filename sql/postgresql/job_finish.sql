SELECT rowlock.finish_job($1::bigint, {given $2}, $3::integer, {storable $4}, $5::bigint);
