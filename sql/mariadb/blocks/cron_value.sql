-- The number that the text % means in the field p_place; NULL: none.
CASE WHEN % REGEXP '^[0-9]+\\z' THEN
         IF(LENGTH(TRIM(LEADING '0' FROM %)) > 4, 9999,
            CAST(CONCAT('0', TRIM(LEADING '0' FROM %)) AS SIGNED))
     WHEN p_place = 3 THEN
         NULLIF(FIELD(LOWER(%), 'jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep',
                      'oct', 'nov', 'dec'), 0)
     WHEN p_place = 4 THEN
         NULLIF(FIELD(LOWER(%), 'sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'), 0) - 1 END
