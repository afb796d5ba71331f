-- Returns the reason why locks on this server would be unsafe, or NULL (MySQL; not tested).
SELECT IF(@@read_only OR @@super_read_only, 'it is read-only, perhaps a replica', NULL) AS reason;
