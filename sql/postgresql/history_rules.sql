SELECT CASE r.history WHEN 'off' THEN 0 WHEN 'problems' THEN 1 WHEN 'slow' THEN 2 ELSE 3 END,
       r.keep_good, r.keep_bad
  FROM (SELECT {history_rules}) r;
