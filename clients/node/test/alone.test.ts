// SPDX-License-Identifier: Apache-2.0
// Without a server: what a real one shows too rarely. The connections are stubs.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import os from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { mock, test } from 'node:test';
import { acquire, BusyError, type Connection, lock, LostError, type Pool } from 'rowlock';

const uptime = os.uptime;
let asleep = 0; // for how many milliseconds the machine was asleep
mock.method(os, 'uptime', () => uptime() + asleep / 1000);

type Answer = (text: string, values: unknown[]) => unknown;
const hangs = (): Promise<never> => new Promise(() => {});

/** A connection of pg, which grants each lease; `answer` may say something else. */
function postgresql(answer: Answer = () => undefined): () => Connection {
    const query = async (request: { text: string; values: unknown[] }): Promise<object> => {
        const own = await answer(request.text, request.values);
        return { rows: [own ?? (request.text.includes('request') ? ['7'] : ['t'])] };
    };
    return () => ({ escapeIdentifier: () => '', query, end: () => {} }) as unknown as Connection;
}

/** A connection of mysql2 or mariadb. */
function mariadb(answer: Answer, more = {}): Connection {
    const query = async (request: { sql: string }, values: unknown[]): Promise<unknown[]> => [
        await answer(request.sql, values),
    ];
    return { escapeId: () => '', query, ...more } as unknown as Connection;
}

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
    const answer: Answer = (text, values) => {
        if (!text.includes('request')) return undefined;
        if (owners.push(values[2]) === 1) asleep += 29_500;
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

const failures: Record<string, () => Promise<never>> = {
    hangs,
    fails: () => Promise.reject(Object.assign(new Error('no'), { errno: 1227, sqlState: '42000' })),
};
for (const [how, failure] of Object.entries(failures)) {
    test(`the pool gets a session back whose isolation level cannot be read: ${how}`, async () => {
        const { pool, ended } = poolOf((text) => (text.includes('SHOW') ? failure() : ['7']));
        const signal = AbortSignal.timeout(200);
        await assert.rejects(acquire(pool, 'x', { signal }));
        assert.equal(ended.length, how === 'hangs' ? 2 : 1); // it leaves the queue by another one
    });

    test(`a session whose isolation level cannot be restored is ended: ${how}`, async () => {
        const { pool, ended } = poolOf((text) => {
            if (text.includes('SHOW')) return ['transaction_isolation', 'REPEATABLE-READ'];
            return text.startsWith('SET') ? failure() : text.includes('@') ? ['1'] : ['7'];
        });
        await (await acquire(pool, 'x')).release();
        assert.deepEqual(ended, ['destroyed']);
    });
}

test('an error of the lock is reported, not the one of what follows', async () => {
    const lostThen = mariadb((text) => {
        if (text.startsWith('SET @')) return [];
        const [errno, message] = text.startsWith('CALL') ? [1205, 'held by me'] : [1153, 'no'];
        return Promise.reject(Object.assign(new Error(message), { errno, sqlState: 'HY000' }));
    });
    const refused = lock(lostThen, 'x', { timeout: 100 });
    await assert.rejects(refused, (error: BusyError) => error.holder === 'me');
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
