-- rowlock on SQLite; the library runs this script itself on the first use of a file.

BEGIN IMMEDIATE;
