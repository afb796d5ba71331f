-- A part of job_list and job_trouble: the rows whose tokens a job of `looked` has.
  LEFT JOIN {run_of job.running} AS run ON run.token = job.running
  LEFT JOIN {run_of job.former} AS ended ON ended.token = job.former
  LEFT JOIN {job_pause} AS pause ON {is_job_pause}
  LEFT JOIN {the}heartbeat AS pausing ON pausing.token = job.pause
