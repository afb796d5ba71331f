-- The rules of the table setting, or the defaults: history, keep_good, keep_bad.
coalesce((SELECT s.history FROM rowlock.setting s), 'slow') AS history,
coalesce((SELECT s.keep_good FROM rowlock.setting s), 86400000) AS keep_good,
coalesce((SELECT s.keep_bad FROM rowlock.setting s), 604800000) AS keep_bad
