-- The queue for leases, and the number of the last token or ticket.

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
    PRIMARY KEY (only_one)
);
INSERT INTO rowlock_number (only_one, drawn) VALUES (1, 0);
