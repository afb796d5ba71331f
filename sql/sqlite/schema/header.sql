-- rowlock on SQLite; the library runs this by itself on the first use of a file.

BEGIN IMMEDIATE;
