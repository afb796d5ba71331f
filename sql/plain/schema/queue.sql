-- The queue for leases, and the number that was drawn last, a token or a ticket. Its row also has
-- the level of the history (0 off, 1 problems, 2 slow, 3 all), and for how many milliseconds the
-- history keeps rows, because each grant reads the row.

CREATE TABLE rowlock_waiter (
    name        {key} NOT NULL,
    ticket      {big} NOT NULL,
    kind        CHAR(1) NOT NULL,
    permits     {big},
    wanted      {big} NOT NULL,
    owner       VARCHAR(64) NOT NULL,
    host        {text} NOT NULL,
    pid         {big},
    command     {text},
    note        {long},
    since       {big} NOT NULL,
    alive_until {big} NOT NULL,
    roll_call   {big} NOT NULL,
    PRIMARY KEY (name, ticket)
);
CREATE INDEX rowlock_waiter_ticket ON rowlock_waiter (ticket);
CREATE INDEX rowlock_waiter_owner ON rowlock_waiter (owner);

CREATE TABLE rowlock_number (
    only_one {big} NOT NULL,
    drawn    {big} NOT NULL,
    history   {big} DEFAULT 2 NOT NULL,
    keep_good {big} DEFAULT 86400000 NOT NULL,
    keep_bad  {big} DEFAULT 604800000 NOT NULL,
    PRIMARY KEY (only_one)
);
INSERT INTO rowlock_number (only_one, drawn, history, keep_good, keep_bad)
VALUES (1, 0, 2, 86400000, 604800000);
