-- Its COMMIT does not wait for the disk.
SELECT rowlock.release_lease($1::bigint, {given $2}, $3::text);
