-- The host of the client, as the server sees it; its process there is not known.
SET p_host = COALESCE(p_host, IF(USER() LIKE '%@localhost', @@hostname,
                                 SUBSTRING_INDEX(USER(), '@', -1))),
    p_program = COALESCE(p_program, CONCAT('session ', CONNECTION_ID(), ' of ',
                                           SUBSTRING_INDEX(USER(), '@', 1)));
