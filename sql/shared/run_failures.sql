-- The outcomes that make a job fail.
'failed', 'timed out', 'not started'
