-- Jobs: commands that exactly one node of a farm runs when they are due.

CREATE TABLE rowlock_job (
    name     {key} NOT NULL,
    version  {big} NOT NULL,
    schedule {long} NOT NULL,
    due      {big} NOT NULL,
    last_due {big} NOT NULL,
    repeats  {big} NOT NULL,
    failed   {big} NOT NULL,
    running  {big} NOT NULL,
    runs_done        {big} NOT NULL,
    runs_failed      {big} NOT NULL,
    runs_timed_out   {big} NOT NULL,
    runs_broken      {big} NOT NULL,
    runs_lost        {big} NOT NULL,
    runs_late        {big} NOT NULL,
    runs_not_started {big} NOT NULL,
    last_success     {big} NOT NULL,
    PRIMARY KEY (name)
);

CREATE TABLE rowlock_run (
    token       {big} NOT NULL,
    job         {key} NOT NULL,
    node        {text} NOT NULL,
    pid         {big} NOT NULL,
    due         {big} NOT NULL,
    repeats     {big} NOT NULL,
    started     {big} NOT NULL,
    taken_until {big} NOT NULL,
    finished    {big} NOT NULL,
    outcome     VARCHAR(16) NOT NULL,
    exit_status {big} NOT NULL,
    output_text {long},
    PRIMARY KEY (token)
);
CREATE INDEX rowlock_run_job ON rowlock_run (job);
