SELECT rowlock.fail_subject({given $1}, $2::bigint, {storable $3}, {storable $4}, $5::bigint,
                            {storable $6}, {storable $7});
