// SPDX-License-Identifier: Apache-2.0
// Without a server: what a real one shows too rarely. The connections are stubs.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import os from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { inspect } from 'node:util';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { after, test } from 'node:test';
import {
    acquire,
    BusyError,
    type Connection,
    fence,
    type Lease,
    type LeaseEvent,
    type LeaseOptions,
    lock,
    LostError,
    nextNumber,
    type Pool,
    refresh,
    releaseAll,
    RowlockError,
    UnavailableError,
    withLease,
} from 'rowlock';
import { judged, MEANINGS } from '../dist/errors';

const { uptime } = os;
let asleep = 0; // for how many milliseconds the machine was asleep
// mock.method() would keep the stack of each call, and so the lease that called it
Object.assign(os, { uptime: () => uptime() + asleep / 1000 });
const warnings: Error[] = [];
process.on('warning', (warning) => warnings.push(warning));
after(() => {
    setTimeout(() => process.exit(), 10_000).unref(); // a test that failed may hold a lease
});

type Answer = (text: string) => unknown;
const hangs = (): Promise<never> => new Promise(() => {});
const texts = (statement: string): string[] =>
    [...statement.matchAll(/(?:decode\(|X)'([0-9a-f]*)'/g)].map(([, digits]) =>
        Buffer.from(digits!, 'hex').toString(),
    );

/** A connection of pg, which grants each lease; `answer` may say something else. */
function postgresql(answer: Answer = () => undefined, more = {}): () => Connection {
    const query = async (request: { text: string }): Promise<object> => {
        const own = await answer(request.text);
        return { rows: [own ?? (request.text.includes('request') ? ['7'] : ['1'])] };
    };
    const driven = { escapeIdentifier: () => '', query, end: () => {}, ...more };
    return () => driven as unknown as Connection;
}

/** A connection of mysql2 or mariadb. */
function mariadb(answer: Answer, more = {}): Connection {
    const query = async (request: { sql: string }): Promise<unknown[]> => [
        await answer(request.sql),
    ];
    return { escapeId: () => '', query, ...more } as unknown as Connection;
}

const reported = (code: string, message = 'no') =>
    Object.assign(new Error(message), { code, severity: 'ERROR' });

test('the meaning of each code is that of clients/errors.txt', () => {
    const listed = readFileSync(process.env['ROWLOCK_ERRORS']!, 'utf8')
        .split('\n')
        .filter((line) => /^(postgresql|mariadb) /.test(line))
        .map((line) => line.split(' ') as [string, string, 'gone']);
    assert.ok(listed.length > 50);
    assert.deepEqual(new Map(listed.map(([, code, meaning]) => [code, meaning])), MEANINGS);
    for (const [engine, code, meaning] of listed) {
        const whole = code.replace('*', '999');
        const errors =
            engine === 'postgresql'
                ? [{ severity: 'FATAL', code: whole }]
                : /\D/.test(code)
                  ? [{ errno: 1644, sqlState: whole }]
                  : [{ errno: Number(code), sqlState: 'HY000', fatal: true }];
        for (const error of errors) assert.equal(judged(error), meaning, code);
    }
});

test('an error without a code of the server is judged by its driver', () => {
    const coded = (code: string) =>
        Object.assign(new Error('x'), { code, errno: -111, sqlState: 'HY000' }); // as mariadb's
    const numbered = (errno: number, cause?: unknown) =>
        Object.assign(new Error('x', { cause }), { errno, sqlState: 'HY000' });
    const gone = [
        coded('ECONNREFUSED'),
        coded('ETIMEDOUT'),
        coded('PROTOCOL_CONNECTION_LOST'),
        numbered(45028),
        numbered(45028, numbered(2013)),
        numbered(45009),
        new Error('Connection terminated unexpectedly'),
        new Error('timeout exceeded when trying to connect'),
        new Error("Can't add new command when connection is in closed state"),
    ];
    for (const error of gone) assert.equal(judged(error), 'gone', String(error));
    const others = [
        new TypeError('socket is not a function'),
        new Error('The server does not support SSL connections'),
        new Error('something about a connection'),
        coded('DEPTH_ZERO_SELF_SIGNED_CERT'),
        numbered(45027),
        undefined,
        'timeout',
    ];
    for (const error of others) assert.equal(judged(error), undefined, String(error));
    assert.equal(judged(numbered(45028, numbered(1045))), 'refused');
});

test('what is not known to be a lost session is raised at once', async () => {
    for (const failure of [new TypeError('mine'), reported('22023'), reported('XX000')]) {
        let calls = 0;
        const source = postgresql((text) => {
            if (!text.includes('request')) return undefined;
            calls++;
            throw failure;
        });
        await assert.rejects(acquire(source, 'x'), (error) => error === failure);
        assert.equal(calls, 1);
        const opening = acquire(() => Promise.reject(failure), 'x');
        await assert.rejects(opening, (error) => error === failure);
    }
});

test('wrong arguments are refused before anything is sent', async () => {
    const pool = { connect: () => assert.fail('it connects') } as unknown as Pool;
    const wrong: [keyof LeaseOptions, unknown, new () => Error][] = [
        ['ttl', '30s', TypeError],
        ['ttl', 999, RangeError],
        ['ttl', NaN, RangeError],
        ['ttl', Infinity, RangeError],
        ['wait', -1, RangeError],
        ['wait', NaN, RangeError],
        ['wait', '5', TypeError],
        ['wait', null, TypeError],
        ['shared', 1, TypeError],
        ['permits', 0, RangeError],
        ['permits', 1.5, RangeError],
        ['permits', '3', TypeError],
        ['note', 7, TypeError],
        ['note', '\ud800', RangeError],
        ['note', '\0', RangeError],
    ];
    for (const [option, value, kind] of wrong) {
        await assert.rejects(acquire(pool, 'x', { [option]: value }), kind, option);
    }
    await assert.rejects(acquire(pool, 'x', { shared: true, permits: 2 }), TypeError);
    const names = [
        ['', RangeError],
        ['é'.repeat(128), RangeError],
        ['a\udc00', RangeError],
        [7, TypeError],
    ] as const;
    const unused = mariadb(() => assert.fail('it sends'));
    for (const [name, kind] of names) {
        const refused = [
            acquire(pool, name as string),
            lock(unused, name as string),
            fence(unused, name as string, 1n),
            nextNumber(unused, name as string),
            refresh(unused, name as string, 0, () => {}),
        ];
        for (const call of refused) await assert.rejects(call, kind, String(name));
    }
    await assert.rejects(nextNumber(unused, 'x'.repeat(248)), RangeError);
    await assert.rejects(fence(unused, 'x', 1 as unknown as bigint), TypeError);
    await assert.rejects(lock(unused, 'x', { timeout: -1 }), RangeError);
    await assert.rejects(
        refresh(unused, 'x', NaN, () => {}),
        RangeError,
    );
    for (const source of [undefined, 'postgresql://db', postgresql()(), unused]) {
        await assert.rejects(acquire(source as unknown as Pool, 'x'), /needs a pool/);
    }
});

test('a loss is announced when the machine has slept, and nothing is renewed', async () => {
    const sent: string[] = [];
    const held = await acquire(
        postgresql((text) => void sent.push(text)),
        'x',
    );
    asleep += 60_000;
    await Promise.race([once(held.signal, 'abort'), sleep(5000)]); // 1 s; it may be busy
    assert.ok(held.signal.aborted);
    assert.equal(sent.length, 1);
    await assert.rejects(held.release(), LostError);
});

test('a loss is announced when the machine has slept during a renewal', async () => {
    const renewing = new AbortController();
    const answer: Answer = (text) => {
        if (!text.includes('renew')) return undefined;
        renewing.abort();
        return hangs();
    };
    const held = await acquire(postgresql(answer), 'x', { ttl: 60_000 });
    asleep += 20_000;
    await once(renewing.signal, 'abort');
    asleep += 60_000;
    await Promise.race([once(held.signal, 'abort'), sleep(5000)]);
    assert.ok(held.signal.aborted);
    void held.release().catch(() => {}); // waits for the renewal
});

test('a short sleep counts', async () => {
    const held = await acquire(postgresql(), 'x');
    const before = held.remaining();
    asleep += 200;
    assert.ok(before - held.remaining() >= 180);
    await held.release();
});

test('a lease that comes too late is acquired again by its owner', async () => {
    const owners: unknown[] = [];
    const answer: Answer = (text) => {
        if (!text.includes('request')) return undefined;
        if (owners.push(texts(text)[1]) === 1) asleep += 29_500;
        return [String(owners.length)];
    };
    const held = await acquire(postgresql(answer), 'x', { wait: 0 });
    assert.equal(held.token, 2n);
    assert.ok(held.remaining() > 20_000);
    assert.deepEqual(owners, [owners[0], owners[0]]);
    await held.release();
});

/** A pool of one session; `ended` has how each use of it has ended. */
function poolOf(answer: Answer): { pool: Pool; ended: string[] } {
    const ended: string[] = [];
    const session = {
        release: () => void ended.push('released'),
        destroy: () => void ended.push('destroyed'),
    };
    const pool = { getConnection: async () => mariadb(answer, session) };
    return { pool, ended };
}

test('a pool lends a session for each call, and gets none back that does not answer', async () => {
    const { pool, ended } = poolOf((text) =>
        text.includes('renew')
            ? hangs()
            : text.startsWith('CALL')
              ? ['7', null, null, null]
              : ['1'],
    );
    const held = await acquire(pool, 'x', { ttl: 1500 });
    assert.deepEqual(ended, ['released']);
    await once(held.signal, 'abort');
    await assert.rejects(held.release(), /not renewed for \d+ s/);
    const isDestroyed = () => ended.includes('destroyed'); // the renewal is given up at the end
    for (let round = 0; round < 1000 && !isDestroyed(); round++) await sleep(10);
    assert.ok(isDestroyed());
});

test('a session that cannot be restored is ended', async () => {
    const failure = Object.assign(new Error('no'), { errno: 1227, sqlState: '42000' });
    const { pool, ended } = poolOf((text) => {
        if (text.startsWith('SET SESSION')) throw failure;
        return text.includes('request') ? ['7'] : ['1'];
    });
    await (await acquire(pool, 'x')).release();
    assert.deepEqual(ended, ['released', 'destroyed']);
});

test('of the waiters of one pool one asks at a time, and no renewal waits for it', async () => {
    let asking = 0;
    let answer = () => {};
    const answered = new Promise<void>((end) => (answer = end));
    const source = postgresql(async (text) => {
        if (text.includes("'7061757365'")) return undefined; // the name of the holder
        if (!text.includes('request')) return undefined;
        assert.equal(++asking, 1);
        await answered;
        asking--;
        return undefined;
    });
    const pool = { connect: async () => source() } as unknown as Pool;
    const held = await acquire(pool, 'pause');
    const waiting = ['a', 'b', 'c'].map((name) => acquire(pool, name));
    await held.release();
    assert.equal(asking, 1);
    answer();
    for (const lease of await Promise.all(waiting)) await lease.release();
});

for (const [who, number, inside] of [
    ['the server itself', '11', true],
    ['a pooler', '12', false],
] as const) {
    test(`a waiter of ${who} ${inside ? 'waits in the server' : 'pauses by itself'}`, async () => {
        const waits: number[] = [];
        const answer: Answer = (text) => {
            if (text.includes('pg_backend_pid')) return [number, null];
            if (!text.includes('request')) return undefined;
            const [, , wait] = text
                .match(/\d+(?=::bigint \* interval)/g)!
                .map(Number)
                .concat(-1);
            waits.push(text.match(/(\d+)::bigint \* interval/g)!.map(parseFloat)[1]!);
            assert.equal(wait, -1);
            return waits.length < 3 ? [null, '1', '1', 'me', '10'] : ['7'];
        };
        await (await acquire(postgresql(answer, { processID: 11 }), 'x')).release();
        assert.deepEqual(waits, inside ? [0, 5000, 5000] : [0, 0, 0]);
    });
}

test('an error of the lock is reported, not the one of what follows', async () => {
    const lostThen = mariadb((text) => {
        if (text.startsWith('SHOW')) return [['tx_isolation', 'READ-COMMITTED']];
        if (!text.startsWith('CALL rowlock_begin') && !text.startsWith('SET S')) return [];
        const [errno, message] = text.startsWith('CALL') ? [1205, 'held by me'] : [1153, 'no'];
        return Promise.reject(Object.assign(new Error(message), { errno, sqlState: 'HY000' }));
    });
    const refused = lock(lostThen, 'x', { timeout: 100 });
    await assert.rejects(refused, (error: BusyError) => String(error.holder) === 'me');
});

test('an abort while the lease is granted releases it', async () => {
    const sent: string[] = [];
    const abort = new AbortController();
    const source = postgresql((text) => {
        sent.push(/rowlock\.(\w+)/.exec(text)?.[1] ?? text);
        if (text.includes('request')) abort.abort(new Error('enough'));
    });
    await assert.rejects(acquire(source, 'x', { signal: abort.signal }), /enough/);
    assert.deepEqual(sent, ['request', 'cancel']);
});

test('a connection of another driver goes back to its pool', async () => {
    let borrowed = 0;
    const connection = { query: async () => [], release: () => void borrowed-- };
    const connect = async () => (borrowed++, connection);
    await assert.rejects(acquire({ connect } as unknown as Pool, 'x'), /not one connection/);
    assert.equal(borrowed, 0);
});

test('an abort ends the wait while it connects, also from a pool that is exhausted', async () => {
    for (const source of [hangs, { connect: hangs } as unknown as Pool]) {
        const abort = new AbortController();
        const waiting = acquire(source, 'x', { signal: abort.signal });
        abort.abort(new Error('enough'));
        await assert.rejects(waiting, /enough/);
    }
});

test('a connection that comes too late goes back', async () => {
    let arrive = (_connection: Connection) => {};
    let ended = 0;
    const source = () => new Promise<Connection>((end) => (arrive = end));
    const abort = new AbortController();
    const waiting = acquire(source, 'x', { signal: abort.signal });
    await sleep(0);
    abort.abort(new Error('enough'));
    await assert.rejects(waiting, /enough/);
    arrive(postgresql(() => assert.fail('it sends'), { end: () => ended++ })());
    await new Promise(setImmediate);
    assert.equal(ended, 1);
});

test('an abort while a request is on its way withdraws it after its end', async () => {
    const sent: string[] = [];
    const abort = new AbortController();
    const { pool } = poolOf(async (text) => {
        sent.push(/rowlock_(\w+)/.exec(text)?.[1] ?? text);
        if (!text.includes('request')) return ['1'];
        abort.abort(new Error('enough'));
        await sleep(100);
        sent.push('answered');
        return ['7'];
    });
    await assert.rejects(acquire(pool, 'x', { signal: abort.signal }), /enough/);
    assert.deepEqual(sent.slice(0, 3), ['request_row', 'answered', 'cancel']);
});

test('a database that was never there is reported after the wait, or at once', async () => {
    let opens = 0;
    const source = () => (
        opens++,
        Promise.reject(Object.assign(new Error(), { code: 'ENOTFOUND' }))
    );
    for (const options of [{}, { wait: 0 }, { wait: Infinity }]) {
        opens = 0;
        await assert.rejects(acquire(source, 'x', options), UnavailableError);
        assert.equal(opens, 1);
    }
    await assert.rejects(acquire(source, 'x', { wait: 300 }), UnavailableError);
    assert.ok(opens > 2);
});

test('after its release a lease says so, and a loss is not a release', async () => {
    const held = await acquire(postgresql(), 'x');
    await Promise.all([held.release(), held.release()]);
    assert.throws(() => held.check(), /'x' was released/);
    assert.equal(held.signal.aborted, false);
    const lost = await acquire(
        postgresql((text) => {
            if (text.includes('renew'))
                throw reported('RL005', 'rowlock: broken by ann@web3: stop the work');
        }),
        'x',
        { ttl: 1000 },
    );
    await once(lost.signal, 'abort');
    assert.equal((lost.signal.reason as LostError).reason, 'broken by ann@web3');
    assert.throws(
        () => lost.check(),
        (error) => error === lost.signal.reason,
    );
});

test('a lease whose fence is open is not released, and its end says so', async () => {
    const source = postgresql((text) => {
        if (text.includes('release')) throw reported('55P03');
    });
    await assert.rejects(
        withLease(source, 'x', {}, () => {}),
        (error: RowlockError) => error.code === 'ROWLOCK_ERROR' && /fence\(\)/.test(error.message),
    );
});

test('a renewal that fails and a loss are warnings', async () => {
    const logged: string[] = [];
    const logger = { debug: () => {}, warn: (text: string) => void logged.push(text) };
    const source = postgresql((text) => {
        if (text.includes('renew')) throw reported('57P01', 'terminated');
    });
    const held = await acquire(source, 'x', { ttl: 1000, logger });
    await once(held.signal, 'abort');
    assert.match(logged[0]!, /'x': the renewal failed, and is repeated: terminated/);
    assert.match(logged.at(-1)!, /'x': the lease is lost: not renewed for 1 s: terminated/);
    await assert.rejects(held.release(), LostError);
});

async function eventsOf(onEvent: (event: LeaseEvent) => void): Promise<void> {
    await withLease(postgresql(), 'x', { onEvent }, () => {});
    const busy = postgresql((text) => text.includes('request') && [null, '1', '1', 'me', '10']);
    await assert.rejects(acquire(busy, 'x', { wait: 0, onEvent }), BusyError);
    const broken = postgresql((text) => {
        if (text.includes('renew')) throw reported('RL005', 'broken');
    });
    const held = await acquire(broken, 'x', { ttl: 1000, onEvent });
    await once(held.signal, 'abort');
}

test('events tell of each lease, and a hook that fails does no harm', async () => {
    let events: LeaseEvent[] = [];
    const throws = (event: LeaseEvent): never => {
        events.push(event);
        throw new Error('of the hook');
    };
    const rejects = async (event: LeaseEvent) => throws(event); // unhandled it would end Node
    for (const onEvent of [throws, rejects]) {
        events = [];
        await eventsOf(onEvent);
        const seen = events.map(({ type, name, token, reason }) => [type, name, token, reason]);
        assert.deepEqual(seen, [
            ['acquired', 'x', 7n, undefined],
            ['released', 'x', 7n, undefined],
            ['waited', 'x', undefined, undefined],
            ['acquired', 'x', 7n, undefined],
            ['lost', 'x', 7n, 'broken'],
        ]);
        assert.ok(events.every(({ duration }) => duration >= 0));
    }
});

test('a lease that was dropped is not renewed any more, with a warning', async () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    const logged: string[] = [];
    const logger = { debug: () => {}, warn: (text: string) => void logged.push(text) };
    const drop = async () => (await acquire(postgresql(), 'x', { logger })).signal;
    // one of them may stay reachable, such as from the frame of a call
    const signals = await Promise.all(Array.from({ length: 10 }, drop));
    let lost: AbortSignal | undefined;
    for (let round = 0; round < 1000 && !lost; round++) {
        collect();
        await sleep(10); // the registry's callbacks run
        lost = signals.find(({ aborted }) => aborted);
    }
    assert.ok(lost, 'one of them is collected');
    assert.match((lost.reason as LostError).reason, /dropped without release/);
    assert.match(logged[0]!, /dropped without release/);
    await releaseAll();
});

test('the end of a block waits 5 s for a renewal that hangs, less what that has used', async () => {
    const sent: string[] = [];
    const renewing = new AbortController();
    let ended = 0;
    let answerIt = () => {};
    const answer: Answer = (text) => {
        sent.push(/rowlock\.(\w+)/.exec(text)?.[1] ?? text);
        if (!text.includes('renew')) return undefined;
        renewing.abort();
        return new Promise<void>((end) => (answerIt = end));
    };
    const held = await acquire(postgresql(answer, { end: () => ended++ }), 'x', { ttl: 3_600_000 });
    asleep += 1_300_000; // the renewal is due
    await once(renewing.signal, 'abort');
    asleep += 5000;
    const released = held.release().then(() => 'released');
    const outcome = await Promise.race([released, sleep(30_000, 'it waits', { ref: false })]);
    answerIt();
    assert.equal(outcome, 'released');
    assert.deepEqual(sent, ['request', 'renew', 'release']);
    assert.equal(ended, 2); // the renewal's session is not used again
    assert.ok(!held.signal.aborted);
});

test('all leases of a process are released together, and their bodies learn it first', async () => {
    const isByAll = (error: LostError) =>
        error instanceof LostError && error.reason === 'released by releaseAll';
    const steps: string[] = [];
    const source = postgresql(async (text) => {
        if (!text.includes('release')) return;
        steps.push('sent');
        await sleep(1000); // longer than the end of a block waits after another loss
        steps.push('released');
    });
    const held = await acquire(postgresql(), 'a');
    const ended = (await acquire(postgresql(), 'b')).release(); // nothing runs under it any more
    let all = Promise.resolve();
    const runs = withLease(source, 'c', {}, async ({ signal }) => {
        signal.addEventListener('abort', () => steps.push('lost'));
        all = releaseAll();
        await releaseAll(); // waits for the first one
        steps.push('body');
    });
    await Promise.all([assert.rejects(runs, isByAll), ended]);
    await all;
    assert.deepEqual(steps, ['lost', 'sent', 'released', 'body']);
    assert.throws(() => held.check(), isByAll);
    await assert.rejects(held.release(), isByAll);
    const failure = new RangeError('of the body');
    const fails = withLease(postgresql(), 'd', {}, async () => {
        await releaseAll();
        throw failure;
    });
    await assert.rejects(fails, (error) => error === failure);
    const ignores = async (): Promise<void> => {
        await using _ = await acquire(postgresql(), 'e');
        await releaseAll();
    };
    await assert.rejects(ignores(), isByAll);
});

test('a lease is shown by its name, token and remaining time', async () => {
    const held = await acquire(postgresql(), 'x');
    const shown = JSON.parse(JSON.stringify({ held })) as { held: Lease };
    assert.equal(shown.held.name, 'x');
    assert.equal(String(shown.held.token), '7');
    assert.match(inspect(held), /^Lease \{ name: 'x', token: 7n, remaining: \d+ \}$/);
    await held.release();
});

test('Node warns of nothing', async () => {
    const { signal } = new AbortController();
    const options = { ttl: 3.15e12, wait: 1e300, signal };
    const many = Array.from({ length: 30 }, (_, number) =>
        acquire(postgresql(), `x${number}`, options),
    );
    const held = await Promise.all(many);
    for (let listeners = 0; listeners < 30; listeners++) {
        held[0]!.signal.addEventListener('abort', () => {});
    }
    asleep += 2e12; // the renewal is due
    await sleep(1100);
    for (const lease of held) await lease.release();
    assert.deepEqual(warnings, []);
});
