WITH asked AS (SELECT w.* FROM {wants $1::text} w)
{expired_of asked};
