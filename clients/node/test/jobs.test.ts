// SPDX-License-Identifier: Apache-2.0
// Jobs on a real server: ROWLOCK_TEST_URL, with the driver in ROWLOCK_TEST_DRIVER.

import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, afterEach, beforeEach, test } from 'node:test';
import { Jobs, LostError, OverrunError } from 'rowlock';
import { command, connect, endOpened, execute, isPostgresql, open, pool } from './server';

const FAR = { every: '50w' }; // does not come due during a test; a new job is due at once
interface Shown {
    due: string;
    outcome: string;
    exit: number;
    output: string;
    repeat: number;
}

/** The runs of the job j, the latest first. */
function history(job = 'j'): Shown[] {
    const [shown] = JSON.parse(command('--json', 'jobs', job)) as [{ history: Shown[] }];
    return shown.history;
}

const nodes: ChildProcess[] = [];
/** A program that has begun the job. */
async function node(what: string): Promise<{ process: ChildProcess; lines: string[] }> {
    const words = [join(__dirname, 'job_node.js'), what];
    const process_ = spawn(process.execPath, words, { stdio: ['ignore', 'pipe', 'inherit'] });
    nodes.push(process_);
    const lines: string[] = [];
    const reader = createInterface(process_.stdout!);
    reader.on('line', (line) => lines.push(line));
    await once(reader, 'line');
    return { process: process_, lines };
}

beforeEach(() => {
    const shown = JSON.parse(command('--json', 'jobs')) as { name: string }[];
    for (const { name } of shown) command('jobs', name, '--forget');
});
afterEach(async () => {
    for (const one of nodes.splice(0)) one.kill('SIGKILL');
    await endOpened();
    assert.equal(command('ls'), '');
});
after(async () => {
    setTimeout(() => process.exit(), 10_000).unref(); // a test that failed may hold a run
    await pool.end();
});

test('an error is recorded with its text, and the run is repeated', async () => {
    const retries: number[] = [];
    const jobs = new Jobs(pool);
    jobs.job('j', { ...FAR, retry: 1, backoff: 0 }, (run) => {
        retries.push(run.retry);
        run.note('37 mails');
        throw new Error('no mail server: é\0', { cause: new RangeError('of the driver') });
    });
    const counts = [await jobs.runDue(), await jobs.runDue(), await jobs.runDue()];
    assert.deepEqual(counts, [1, 1, 0]);
    assert.deepEqual(retries, [0, 1]);
    const [{ outcome, exit, output, repeat }] = history() as [Shown];
    assert.deepEqual({ outcome, exit, repeat }, { outcome: 'failed', exit: 1, repeat: 1 });
    assert.match(output, /^37 mails\nError: no mail server: é\?\n +at .*jobs\.test/);
    assert.match(output, /\ncaused by RangeError: of the driver\n/);
    assert.match(output, /\nError: no mail server: é\?$/); // a list shows the last line
});

test('a long message is recorded from its beginning', async () => {
    const jobs = new Jobs(pool);
    jobs.job('j', FAR, () => {
        throw new Error('é'.repeat(1_000_000));
    });
    await jobs.runDue();
    const { output } = history()[0]!;
    assert.match(output, /^Error: é+\nError: é+$/);
    assert.ok(output.length > 1000);
});

test('after maxRun its signal aborts, and the run is recorded as timed out', async () => {
    const jobs = new Jobs(pool);
    jobs.job('j', { ...FAR, maxRun: 100 }, async (run) => {
        await once(run.signal, 'abort');
        assert.ok(run.signal.reason instanceof OverrunError);
        assert.throws(() => run.check(), OverrunError);
        run.note('it learned of it');
    });
    await jobs.runDue();
    const { outcome, output } = history()[0]!;
    assert.equal(outcome, 'timed out');
    assert.match(output, /^it learned of it\n/);
});

test('a broken run learns of it', async () => {
    const events: string[] = [];
    const jobs = new Jobs(pool, { onEvent: ({ type, name }) => events.push(`${type} ${name}`) });
    jobs.job('j', { ...FAR, ttl: 1000 }, async (run) => {
        command('break', 'job:j');
        await once(run.signal, 'abort');
        assert.ok(run.signal.reason instanceof LostError);
        run.check();
    });
    await jobs.runDue();
    assert.equal(history()[0]!.outcome, 'broken');
    assert.deepEqual(events, ['acquired job:j', 'lost job:j']);
});

test('a fence keeps the run from being taken over', async () => {
    const connection = await open();
    const jobs = new Jobs(pool);
    jobs.job('j', FAR, async (run) => {
        await execute(connection, 'BEGIN');
        await run.fence(connection);
        await execute(connection, 'COMMIT');
        command('break', '--now', 'job:j');
        await execute(connection, 'BEGIN');
        await assert.rejects(run.fence(connection), LostError);
        await execute(connection, 'ROLLBACK');
    });
    await jobs.runDue();
    assert.equal(history()[0]!.outcome, 'broken');
});

test('a result is recorded as soon as a fence has ended', async () => {
    const connection = await open();
    const heard: string[] = [];
    let committed: Promise<unknown> | undefined;
    const warn = (message: string): void => {
        heard.push(message);
        committed ??= execute(connection, 'COMMIT');
    };
    const jobs = new Jobs(pool, { logger: { debug: () => {}, warn } });
    jobs.job('j', FAR, async (run) => {
        await execute(connection, 'BEGIN');
        await run.fence(connection);
    });
    await jobs.runDue();
    await committed;
    assert.match(heard[0]!, /^rowlock 'job:j': the result is sent again: BusyError/);
    assert.equal(history()[0]!.outcome, 'done');
});

test('a node that ends gives its run to another one at once', async () => {
    const ending = await node('waits');
    const ended = once(ending.process, 'exit');
    ending.process.kill('SIGTERM');
    assert.deepEqual(await ended, [0, null]);
    assert.deepEqual(ending.lines, ['began', 'told']);
    const { outcome, output } = history()[0]!;
    assert.deepEqual([outcome, output], ['lost', 'retry 0\nthe program ends']);
    const jobs = new Jobs(pool);
    jobs.job('j', FAR, () => {});
    assert.equal(await jobs.runDue(), 1);
});

test('the loop performs what is made due, and ends with its signal', async () => {
    const stop = new AbortController();
    const jobs = new Jobs(connect);
    let runs = 0;
    jobs.job('j', { ...FAR, retry: 1, backoff: 100 }, () => {
        if (++runs === 1) throw new Error('once');
        stop.abort();
    });
    await jobs.run({ signal: stop.signal });
    assert.deepEqual(
        history().map(({ outcome }) => outcome),
        ['done', 'failed'],
    );
});

test('a lost run and another schedule are warnings', async () => {
    const warnings: string[] = [];
    const logger = { debug: () => {}, warn: (message: string) => warnings.push(message) };
    const dying = await node('dies');
    dying.process.kill('SIGKILL');
    const stop = new AbortController();
    const jobs = new Jobs(pool, { logger });
    jobs.job('j', { every: '51w' }, () => stop.abort());
    await jobs.run({ signal: stop.signal });
    warnings.sort(); // one answer has both, or each has one
    assert.match(warnings[0]!, /^rowlock 'jobs': the job 'j': another node has .* 'every 50w'$/);
    assert.match(warnings[1]!, /^rowlock 'jobs': the job 'j': the previous run, \d+, was lost$/);
    assert.equal(warnings.length, 2);
});

test('a wrong schedule is an error at once', async () => {
    const jobs = new Jobs(pool);
    jobs.job('j', { cron: '60 * * * *' }, () => {});
    const wrong = /the job 'j': .*minute.*allowed are 0 to 59/;
    await assert.rejects(jobs.runDue(), wrong);
    await assert.rejects(jobs.run({ signal: new AbortController().signal }), wrong);
});

test('a wrong option is an error, not ignored', () => {
    const options = { ...FAR, max_run: 1 };
    assert.throws(() => new Jobs(pool).job('j', options, () => {}), /no option max_run/);
});

test('a cron line in a time zone is accepted', async () => {
    const jobs = new Jobs(pool);
    const zone = isPostgresql ? 'Europe/Berlin' : '+02:00'; // a new MariaDB knows no names
    jobs.job('j', { cron: '0 3 29 2 *', zone, missed: 'skip', atLeast: 0, history: 5 }, () => {});
    assert.equal(await jobs.runDue(), 0);
    const [shown] = JSON.parse(command('--json', 'jobs', 'j')) as [{ schedule: string }];
    assert.ok(shown.schedule.includes(zone), shown.schedule);
});
