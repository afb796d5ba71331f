SELECT {read_text s.name}, {read_text s.description}, s.status, ({in_ms s.began})::bigint,
       ({in_ms s.ended})::bigint, ({in_ms s.updated})::bigint, s.age_ms, {read_text s.program},
       {read_text s.host}, s.pid, {read_text s.error}, s.exit, s.made::integer
  FROM rowlock.subjects s
 WHERE $1::bytea IS NULL OR s.name = {given $1} COLLATE "C"
 ORDER BY s.name;
