SELECT rowlock.fail_subject({given $1}, $2::bigint, {given $3}, {given $4}, $5::bigint,
                            {given $6}, {given $7});
