-- rowlock's tables on a database without rowlock's functions, schema version {schema_version}. A
-- name is stored as the hexadecimal digits of its bytes, in upper case: so it is the same on every
-- engine, whatever the collation. Times are milliseconds since 1970 UTC. Each statement commits by
-- itself; the row of rowlock_meta is inserted last.

CREATE TABLE rowlock_name (
    name {key} NOT NULL,
    n    {big} NOT NULL,
    PRIMARY KEY (name)
);

CREATE TABLE rowlock_lease (
    name     {key} NOT NULL,
    token    {big} NOT NULL,
    n        {big} NOT NULL,
    kind     CHAR(1) NOT NULL,
    permits  {big},
    owner    VARCHAR(64) NOT NULL,
    host     {text} NOT NULL,
    pid      {big},
    command  {text},
    note     {long},
    acquired {big} NOT NULL,
    waited   {big} DEFAULT 0 NOT NULL,
    PRIMARY KEY (name, token, n)
);
CREATE INDEX rowlock_lease_token ON rowlock_lease (token);

CREATE TABLE rowlock_heartbeat (
    token   {big} NOT NULL,
    expires {big} NOT NULL,
    stop    {big} NOT NULL,
    quiet_until {big} DEFAULT 9223372036854775807 NOT NULL,
    PRIMARY KEY (token)
);
