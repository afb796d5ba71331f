-- end of GRANTs
DO RELEASE_LOCK(CONCAT('rowlock:', MD5(DATABASE())));
