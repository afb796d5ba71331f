-- Whether the server is read-only: 0 or 1; since MariaDB 12.0 OFF or one of several words.
CAST(@@read_only AS CHAR) NOT IN ('0', 'OFF')
