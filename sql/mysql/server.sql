-- Why no lock would be kept on this server, or NULL. (MySQL, not tested.)
SELECT IF(@@read_only OR @@super_read_only, 'it is read-only, perhaps a replica', NULL) AS reason;
