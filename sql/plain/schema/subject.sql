-- Subjects: data that is refreshed exactly once when it is stale.

CREATE TABLE rowlock_subject (
    name        {key} NOT NULL,
    version     {big} NOT NULL,
    status      VARCHAR(16) NOT NULL,
    description {long},
    began       {big},
    ended       {big},
    basis       {big},
    updated     {big},
    host        {text},
    pid         {big},
    program     {text},
    token       {big} NOT NULL,
    error_text  {long},
    exit_status {big},
    PRIMARY KEY (name)
);

CREATE TABLE rowlock_expiry (
    name    {key} NOT NULL,
    expired {big} NOT NULL,
    PRIMARY KEY (name)
);
