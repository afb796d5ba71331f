-- The outcome of a run; a heartbeat shows that it is under way.
CASE WHEN beat.token IS NOT NULL THEN 'running' WHEN run.outcome = 'running' THEN 'lost'
     ELSE {word run.outcome} END
