SELECT rowlock.finish_subject({given $1}, $2::bigint, $3::integer, {storable $4}, $5::integer,
                              $6::bigint);
