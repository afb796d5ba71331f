// SPDX-License-Identifier: Apache-2.0
// Jobs without a server: what a real one shows too rarely. The database is the fake.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import os from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { after, test } from 'node:test';
import {
    type Connection,
    type JobOptions,
    Jobs,
    LostError,
    type Pool,
    releaseAll,
    RowlockError,
    type Run,
    UnavailableError,
} from 'rowlock';
import { type Fake, fake, type FakeConnection } from 'rowlock/fake';
import { ANSWER, type Call, type Row, type Values } from '../dist/engine';

after(() => {
    setTimeout(() => process.exit(1), 10_000).unref(); // something keeps the process alive
});

const { uptime } = os;
let asleep = 0; // for how many milliseconds the machine was asleep
Object.assign(os, { uptime: () => uptime() + asleep / 1000 });

const DAILY = { every: '1d' };
const gone = () => Object.assign(new Error('gone'), { code: 'ECONNRESET' });

type Pass = (which: Call, values: Values, reply: () => Promise<Row>) => Promise<Row>;
/** A pool of the fake whose calls go through `pass`. */
function through(database: Fake, pass: Pass): Pool {
    const wrapped = (inner: FakeConnection) => ({
        query: () => assert.fail('it has no SQL'),
        release: () => {},
        [ANSWER]: (which: Call, values: Values) =>
            pass(which, values, () => inner[ANSWER](which, values)),
    });
    return { connect: async () => wrapped(await database.connect()) as unknown as Connection };
}

/** What it warns of. */
function listener(): { logger: { debug(): void; warn(message: string): void }; heard: string[] } {
    const heard: string[] = [];
    return { logger: { debug: () => {}, warn: (message) => void heard.push(message) }, heard };
}

test('wrong arguments are refused when the job is defined', async () => {
    const pool = { connect: () => assert.fail('it connects') } as unknown as Pool;
    const jobs = new Jobs(pool);
    jobs.job('j', DAILY, () => {});
    const wrong: [object, new () => Error][] = [
        [{ every: undefined }, TypeError],
        [{ cron: '@daily' }, TypeError],
        [{ every: 5 }, TypeError],
        [{ every: '5\0m' }, RangeError],
        [{ zone: 7 }, TypeError],
        [{ ttl: '30s' }, TypeError],
        [{ ttl: 999 }, RangeError],
        [{ maxRun: 0 }, RangeError],
        [{ maxRun: '1h' }, TypeError],
        [{ retry: 1.5 }, RangeError],
        [{ retry: -1 }, RangeError],
        [{ retry: null }, TypeError],
        [{ backoff: -1 }, RangeError],
        [{ atLeast: 367 * 86_400_000 }, RangeError],
        [{ missed: 'never' }, RangeError],
        [{ history: 0 }, RangeError],
        [{ note: 7 }, TypeError],
    ];
    for (const [options, kind] of wrong) {
        const given = { ...DAILY, ...options } as JobOptions;
        assert.throws(() => jobs.job('k', given, () => {}), kind, JSON.stringify(options));
    }
    for (const [name, kind] of [
        ['', RangeError],
        ['x'.repeat(252), RangeError],
        [7, TypeError],
        ['j', /'j' is defined already/],
    ] as const) {
        assert.throws(() => jobs.job(name as string, DAILY, () => {}), kind);
    }
    jobs.job('x'.repeat(251), DAILY, () => {});
    assert.throws(() => jobs.job('k', DAILY, 'work' as never), TypeError);
    assert.throws(() => new Jobs('postgresql://db' as never), /needs a pool/);
    assert.throws(() => new Jobs(pool, { limit: 0 }), RangeError);
    await assert.rejects(jobs.run({} as never), TypeError);
    await assert.rejects(jobs.run({ signal: AbortSignal.abort(), grace: -1 }), RangeError);
    await jobs.run({ signal: AbortSignal.abort() });
});

test('at most `limit` runs at once, and a job never beside itself', async () => {
    const database = fake();
    const jobs = new Jobs(database, { limit: 2 });
    const stop = new AbortController();
    let [now, most, ended] = [0, 0, 0];
    for (const name of ['a', 'b', 'c', 'd', 'e']) {
        jobs.job(name, DAILY, async () => {
            most = Math.max(most, ++now);
            database.due.add(name);
            await sleep(20);
            now--;
            database.due.delete(name);
            if (++ended === 5) stop.abort();
        });
    }
    await jobs.run({ signal: stop.signal });
    assert.deepEqual([most, ended], [2, 5]);
    for (const name of ['a', 'b', 'c', 'd', 'e']) database.due.add(name);
    assert.equal(await jobs.runDue(), 5);
    assert.deepEqual([most, ended], [2, 10]);
});

test('a loop with `limit` runs sends nothing until one ends', async () => {
    const claims: unknown[] = [];
    const source = through(fake(), (which, values, reply) => {
        if (which === 'claim') claims.push(values[0]);
        return reply();
    });
    const jobs = new Jobs(source, { limit: 1 });
    const stop = new AbortController();
    jobs.job('a', DAILY, () => sleep(100));
    jobs.job('b', DAILY, () => stop.abort());
    await jobs.run({ signal: stop.signal });
    assert.deepEqual(claims, ['a', 'b']);
});

test('a claim whose reply was lost is repeated by its owner, the next one has another', async () => {
    const owners: unknown[] = [];
    const { logger, heard } = listener();
    const source = through(fake(), async (which, values, reply) => {
        if (which === 'claim' && owners.push(values[2]) < 3) throw gone();
        return reply();
    });
    const jobs = new Jobs(source, { logger });
    const stop = new AbortController();
    jobs.job('j', DAILY, () => stop.abort());
    await jobs.run({ signal: stop.signal });
    await jobs.runDue();
    assert.deepEqual(owners, [owners[0], owners[0], owners[0], owners[3]]);
    assert.notEqual(owners[0], owners[3]);
    assert.equal(heard.length, 2);
    assert.match(heard[0]!, /asking again .*gone/);
});

test('runDue reports that the database is away, after the runs that it has begun', async () => {
    const database = fake();
    const source = through(database, async (_, values, reply) => {
        if (values[0] === 'b') throw gone();
        return reply();
    });
    const jobs = new Jobs(source);
    for (const name of ['a', 'b']) jobs.job(name, DAILY, () => sleep(50));
    await assert.rejects(jobs.runDue(), UnavailableError);
    assert.deepEqual(database.runs, [{ job: 'a', outcome: 'done', output: '' }]);
});

test('a claim whose answer comes too late is not started', async () => {
    const database = fake();
    let calls = 0;
    const source = through(database, async (which, _, reply) => {
        const row = await reply();
        if (which === 'claim' && ++calls === 1) await sleep(1850);
        return row;
    });
    const jobs = new Jobs(source);
    jobs.job('j', { ...DAILY, ttl: 2000 }, () => {});
    assert.equal(await jobs.runDue(), 0);
    assert.equal(await jobs.runDue(), 1);
    const outcomes = database.runs.map(({ outcome }) => outcome);
    assert.deepEqual(outcomes, ['not started', 'done']);
});

test('a run that is claimed when the signal aborts is not started', async () => {
    const database = fake();
    const stop = new AbortController();
    const source = through(database, (which, _, reply) => {
        if (which === 'claim') stop.abort();
        return reply();
    });
    const jobs = new Jobs(source);
    jobs.job('j', DAILY, () => assert.fail('it runs'));
    await jobs.run({ signal: stop.signal });
    assert.deepEqual(database.runs, [
        { job: 'j', outcome: 'not started', output: 'the program ends' },
    ]);
});

test('a result is sent again while the lease lasts', async () => {
    const database = fake();
    const { logger, heard } = listener();
    let failures = 4;
    const source = through(database, async (which, _, reply) => {
        if (which !== 'finish' || failures-- <= 0) return reply();
        const busy = Object.assign(new Error('a fence'), { code: '55P03', severity: 'ERROR' });
        throw failures === 3 ? busy : gone();
    });
    const jobs = new Jobs(source, { logger });
    jobs.job('j', DAILY, (run) => run.note('37 mails'));
    assert.equal(await jobs.runDue(), 1);
    assert.deepEqual(database.runs, [{ job: 'j', outcome: 'done', output: '37 mails' }]);
    assert.equal(heard.length, 4);
    for (const one of heard) assert.match(one, /^rowlock 'job:j': the result is sent again: /);
});

test('a result that cannot be recorded is a warning', async () => {
    const { logger, heard } = listener();
    const source = through(fake(), async (which, _, reply) => {
        if (which === 'finish') throw gone();
        return reply();
    });
    const jobs = new Jobs(source, { logger });
    jobs.job('j', { ...DAILY, ttl: 1000 }, () => {});
    assert.equal(await jobs.runDue(), 1);
    assert.match(heard.at(-1)!, /the result was not recorded: .*gone/);
});

test('an error of a job that was accepted is a warning', async () => {
    const { logger, heard } = listener();
    const refused = Object.assign(new Error('no zone'), { code: '22023', severity: 'ERROR' });
    let calls = 0;
    const stop = new AbortController();
    const source = through(fake(), async (which, values, reply) => {
        if (which === 'claim' && values[0] === 'j' && ++calls === 2) throw refused;
        return reply();
    });
    const jobs = new Jobs(source, { logger });
    jobs.job('j', DAILY, () => {
        jobs.job('later', DAILY, async () => {
            while (heard.length === 0) await sleep(5);
            stop.abort();
        });
    });
    await jobs.run({ signal: stop.signal });
    assert.deepEqual(heard, ["rowlock 'jobs': the job 'j': Error: no zone"]);
    const never = new Jobs(through(fake(), () => Promise.reject(refused)));
    never.job('j', DAILY, () => {});
    const running = never.run({ signal: new AbortController().signal });
    await assert.rejects(running, (error) => error === refused);
});

const said = (properties: object) => Object.assign(new Error('no'), properties);
const PASSING: [string, Error][] = [
    ['a server of PostgreSQL that only reads', said({ code: '25006', severity: 'ERROR' })],
    ['a statement timeout', said({ code: '57014', severity: 'ERROR' })],
    ['a lock timeout', said({ code: '55P03', severity: 'ERROR' })],
    ['a server of MariaDB that only reads', said({ errno: 1290, sqlState: 'HY000', code: 'ER_X' })],
];
const LASTING: [string, Error][] = [
    ['a wrong argument', said({ code: '22003', severity: 'ERROR' })],
    ['one of MariaDB', said({ errno: 1264, sqlState: '22003', code: 'ER_WARN_DATA_OUT_OF_RANGE' })],
    ['no schema', said({ code: '42883', severity: 'ERROR' })],
    [
        'a misuse of the driver mariadb',
        said({ errno: 45016, sqlState: 'HY000', code: 'ER_MISSING' }),
    ],
    ['an error of the program', new TypeError('not iterable')],
];

/** A source whose first claim of the job j fails. */
function failsOnce(error: Error): Pool {
    let claims = 0;
    return through(fake(), (which, values, reply) =>
        which === 'claim' && values[0] === 'j' && ++claims === 1 ? Promise.reject(error) : reply(),
    );
}

for (const [what, error] of PASSING) {
    test(`the loop outlives an error of the first claim that may pass: ${what}`, async () => {
        const stop = new AbortController();
        const heard: string[] = [];
        const warn = (message: string): void => {
            heard.push(message);
            asleep += 61_000; // then it asks again
            jobs.job('wakes', DAILY, () => {});
        };
        const jobs = new Jobs(failsOnce(error), { logger: { debug: () => {}, warn } });
        jobs.job('j', DAILY, () => stop.abort());
        await jobs.run({ signal: stop.signal });
        assert.match(heard[0]!, /^rowlock 'jobs': the job 'j': /);
        assert.equal(heard.length, 1);
        const once_ = new Jobs(failsOnce(error));
        once_.job('j', DAILY, () => {});
        await assert.rejects(once_.runDue(), /^\w*Error: the job 'j': /);
    });
}

for (const [what, error] of LASTING) {
    test(`another error of the first claim ends the loop: ${what}`, async () => {
        const jobs = new Jobs(failsOnce(error));
        jobs.job('j', DAILY, () => {});
        const running = jobs.run({ signal: new AbortController().signal });
        await assert.rejects(running, /^\w*Error: the job 'j': /);
    });
}

test('a run that does not end in time learns that it is lost before another can begin', async () => {
    const database = fake();
    const order: string[] = [];
    const source = through(database, (which, _, reply) => {
        if (which === 'finish') order.push('finish');
        return reply();
    });
    const stop = new AbortController();
    const jobs = new Jobs(source);
    jobs.job('short', DAILY, async () => {
        await once(stop.signal, 'abort');
        await sleep(20);
    });
    jobs.job('endless', DAILY, async (run) => {
        run.signal.addEventListener('abort', () => order.push(String(run.signal.reason)));
        stop.abort();
        await new Promise(() => {});
    });
    await jobs.run({ signal: stop.signal, grace: 200 });
    const lost = "LostError: the lease of 'job:endless' is lost: stop the work done under it";
    assert.deepEqual(order, ['finish', `${lost} (the program ends)`, 'finish']);
    assert.deepEqual(database.runs, [
        { job: 'short', outcome: 'done', output: '' },
        { job: 'endless', outcome: 'lost', output: 'the program ends' },
    ]);
    database.due.add('endless');
    assert.equal(await jobs.runDue(), 0); // never beside itself
});

test('a run whose function ignores that it is lost is recorded as lost', async () => {
    const database = fake();
    const jobs = new Jobs(database);
    jobs.job('j', { ...DAILY, ttl: 1000 }, async (run) => {
        database.break('job:j', 'broken by ann');
        await once(run.signal, 'abort');
    });
    assert.equal(await jobs.runDue(), 1);
    assert.deepEqual(database.runs, [{ job: 'j', outcome: 'lost', output: 'broken by ann' }]);
});

test('releaseAll ends a run as lost', async () => {
    const database = fake();
    const jobs = new Jobs(database);
    jobs.job('j', DAILY, async (run) => {
        await releaseAll();
        assert.ok(run.signal.reason instanceof LostError);
    });
    await jobs.runDue();
    assert.deepEqual(database.runs, [
        { job: 'j', outcome: 'lost', output: 'released by releaseAll' },
    ]);
});

test('a loop runs once at a time', async () => {
    const jobs = new Jobs(fake());
    const stop = new AbortController();
    const running = jobs.run({ signal: stop.signal });
    await assert.rejects(jobs.runDue(), RowlockError);
    stop.abort();
    await running;
    assert.equal(await jobs.runDue(), 0);
});

test('whatever a function throws has a text', async () => {
    const database = fake();
    const jobs = new Jobs(database);
    const both = new AggregateError([new Error('one'), new Error('two')], 'both');
    const circle = new Error('circle');
    circle.cause = circle;
    const secret = Object.assign(new Error('login'), { password: 'secret' });
    const thrown: [unknown, RegExp][] = [
        [undefined, /^undefined$/],
        ['a text\0', /^a text\?$/],
        [Object.create(null), /^an error without a text$/],
        [both, /^AggregateError: both\n.*caused by Error: one\n.*caused by Error: two\n/s],
        [circle, /^Error: circle\n/],
        [secret, /^Error: login\n(?!.*secret)/s],
    ];
    for (const [number, [error]] of thrown.entries()) {
        jobs.job(`j${number}`, DAILY, () => {
            throw error;
        });
    }
    assert.equal(await jobs.runDue(), thrown.length);
    for (const [number, [, text]] of thrown.entries()) {
        const { outcome, output } = database.runs.find(({ job }) => job === `j${number}`)!;
        assert.equal(outcome, 'failed');
        assert.match(output, text);
    }
});

test('a run is JSON for a log, and its notes are kept from their end', async () => {
    const database = fake();
    const jobs = new Jobs(database);
    jobs.job('j', DAILY, (run: Run) => {
        assert.match(JSON.stringify(run), /^{"job":"j","due":"2.*","retry":0,"token":"\d+"}$/);
        for (let line = 1; line <= 10_000; line++) run.note(`line ${line}`);
        assert.throws(() => run.note(7 as never), TypeError);
    });
    await jobs.runDue();
    const { output } = database.runs[0]!;
    assert.ok(output.endsWith('line 9999\nline 10000'));
    assert.ok(output.length > 2000 && output.length <= 2048);
});
