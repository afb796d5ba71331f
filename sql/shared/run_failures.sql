-- The outcomes of a run that make its job fail.
'failed', 'timed out', 'not started'
