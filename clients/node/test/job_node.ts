// SPDX-License-Identifier: Apache-2.0
// A node of the farm for jobs.test.ts, which kills it, or ends it by SIGTERM. Its job prints
// "began". Its argument: "dies", it is replaced soon after it was killed; "waits", the job waits
// until it is lost, and prints "told"; "ends".

import { once } from 'node:events';
import { Jobs } from 'rowlock';
import { connect, pool } from './server';

const what = process.argv[2];
const stop = new AbortController();
process.once('SIGTERM', () => stop.abort());
const jobs = new Jobs(connect);
jobs.job('j', { every: '50w', ttl: what === 'dies' ? 2000 : 30_000 }, async (run) => {
    run.note(`retry ${run.retry}`);
    console.log('began');
    if (what === 'ends') return;
    await once(run.signal, 'abort');
    console.log('told');
    await new Promise(() => {}); // a function that does not end
});
// after that nothing keeps the process alive
void jobs.run({ signal: stop.signal, grace: 100 }).then(() => pool.end());
