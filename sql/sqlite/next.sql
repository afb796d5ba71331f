-- Draws ?3 numbers of the counter ?1, under the write lock, and returns the first; a new counter
-- begins with ?2.
INSERT INTO rowlock_counter (name, last) VALUES (?1, ?2 + ?3 - 1)
    ON CONFLICT (name) DO UPDATE SET last = last + ?3;
SELECT last - ?3 + 1 FROM rowlock_counter WHERE name = ?1;
