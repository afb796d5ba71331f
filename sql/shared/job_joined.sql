-- A part of job_list and job_trouble: the rows whose tokens a job of `looked` has.
  LEFT JOIN {run_under_way job} AS run ON run.token = job.running
  LEFT JOIN {run_before job} AS ended ON ended.token = job.former
  LEFT JOIN {job_pause} AS pause ON {is_job_pause}
  LEFT JOIN {beat_of job.pause} AS pausing ON pausing.token = pause.token
