// SPDX-License-Identifier: Apache-2.0
// The fake, in the place of a pool and of a connection.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import {
    acquire,
    BusyError,
    fence,
    Jobs,
    lock,
    LostError,
    nextNumber,
    refresh,
    UnavailableError,
    withLease,
} from 'rowlock';
import { fake } from 'rowlock/fake';

test('leases exclude, wait in their order, and share', async () => {
    const pool = fake();
    const order: number[] = [];
    const work = (number: number) => () => void order.push(number);
    await withLease(pool, 'x', { note: 'mine' }, async () => {
        await assert.rejects(acquire(pool, 'x', { wait: 0 }), (error: BusyError) => {
            assert.equal(error.holder.note, 'mine');
            return error instanceof BusyError && error.holder.waiting === 0;
        });
    });
    await Promise.all([1, 2, 3].map((number) => withLease(pool, 'x', {}, work(number))));
    assert.deepEqual(order, [1, 2, 3]);
    const two = await Promise.all([1, 2].map(() => acquire(pool, 'p', { permits: 2 })));
    await assert.rejects(acquire(pool, 'p', { permits: 2, wait: 0 }), BusyError);
    two.push(
        await acquire(pool, 's', { shared: true }),
        await acquire(pool, 's', { shared: true }),
    );
    assert.ok(new Set(two.map(({ token }) => token)).size === 4);
    for (const lease of two) await lease.release();
});

test('a test makes a name busy, a lease lost, the database unavailable', async () => {
    const pool = fake();
    const release = pool.hold('x', { host: 'web3', note: 'nightly' });
    await assert.rejects(acquire(pool, 'x', { wait: 50 }), /web3.*nightly/);
    release();
    const held = await acquire(pool, 'x', { ttl: 1000 });
    pool.break('x', 'broken by ann');
    const own = await pool.connect();
    await own.query('BEGIN');
    await assert.rejects(fence(own, 'x', held.token), LostError);
    await once(held.signal, 'abort');
    assert.equal((held.signal.reason as LostError).reason, 'broken by ann');
    await assert.rejects(held.release(), LostError);
    pool.fail(Object.assign(new Error('refused'), { code: 'ECONNREFUSED' }));
    await assert.rejects(acquire(pool, 'x', { wait: 0 }), UnavailableError);
    pool.fail();
    await (await acquire(pool, 'x', { wait: 0 })).release();
});

test('a lock lasts until the transaction ends, and excludes leases', async () => {
    const pool = fake();
    const [one, two] = [await pool.connect(), await pool.connect()];
    await assert.rejects(lock(one, 'x'), /no transaction is open/);
    await one.query('BEGIN');
    await two.query('BEGIN');
    await lock(one, 'x');
    await assert.rejects(lock(two, 'x', { timeout: 0 }), BusyError);
    await assert.rejects(acquire(pool, 'x', { wait: 0 }), BusyError);
    await one.query('COMMIT');
    await lock(two, 'x', { shared: true, timeout: 100 });
    await two.query('ROLLBACK');
    await (await acquire(pool, 'x', { wait: 0 })).release();
});

test('a rollback takes back a number and a refresh', async () => {
    const pool = fake();
    const own = await pool.connect();
    const drawn: bigint[] = [];
    for (const ending of ['COMMIT', 'ROLLBACK', 'COMMIT']) {
        await own.query('BEGIN');
        drawn.push(await nextNumber(own, 'invoice'));
        await own.query(ending);
    }
    assert.deepEqual(drawn, [1n, 2n, 2n]);
    const loaded: boolean[] = [];
    for (const ending of ['ROLLBACK', 'COMMIT', 'COMMIT']) {
        await own.query('BEGIN');
        loaded.push(await refresh(own, 'rates', 60_000, () => own.query('INSERT ...')));
        await own.query(ending);
    }
    assert.deepEqual(loaded, [true, true, false]);
    assert.equal(own.statements.filter((text) => text.startsWith('INSERT')).length, 2);
});

test('a job is performed when it is due', async () => {
    const pool = fake();
    const jobs = new Jobs(pool);
    jobs.job('mail', { every: '1h' }, (run) => {
        run.note('37 mails');
        if (pool.runs.length === 1) throw new Error('no mail server');
    });
    assert.deepEqual([await jobs.runDue(), await jobs.runDue()], [1, 0]);
    pool.due.add('mail');
    assert.equal(await jobs.runDue(), 1);
    assert.deepEqual(pool.runs[0], { job: 'mail', outcome: 'done', output: '37 mails' });
    assert.equal(pool.runs[1]!.outcome, 'failed');
    assert.match(pool.runs[1]!.output, /no mail server/);
    await (await acquire(pool, 'job:mail', { wait: 0 })).release();
});
