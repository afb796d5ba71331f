-- Counters: numbers without gaps, drawn under the lock of counter:NAME.

CREATE TABLE rowlock_counter (
    name  {key} NOT NULL,
    drawn {big} NOT NULL,
    PRIMARY KEY (name)
);
