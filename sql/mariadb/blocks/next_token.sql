-- The next token of a row of rowlock_name, whose lock the statement has.
GREATEST(COALESCE(token, 0) DIV 2 * 2, least DIV 2 * 2,
         TIMESTAMPDIFF(MICROSECOND, '1970-01-01', utc_timestamp(6)) DIV 2 * 2 - 2) + 2
