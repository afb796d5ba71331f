-- Under the write lock: the first of ?3 numbers of the counter ?1, which begins with ?2.
INSERT INTO rowlock_counter (name, last) VALUES (?1, ?2 + ?3 - 1)
    ON CONFLICT (name) DO UPDATE SET last = last + ?3;
SELECT last - ?3 + 1 FROM rowlock_counter WHERE name = ?1;
