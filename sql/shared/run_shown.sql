-- The outcome of the run of a job: it has a heartbeat while it is under way.
CASE WHEN beat.token IS NOT NULL THEN 'running' WHEN run.outcome = 'running' THEN 'lost'
                ELSE {word run.outcome} END
