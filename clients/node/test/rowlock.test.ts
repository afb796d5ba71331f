// SPDX-License-Identifier: Apache-2.0
// On a real server: ROWLOCK_TEST_URL, with the driver in ROWLOCK_TEST_DRIVER.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { hostname } from 'node:os';
import { basename } from 'node:path';
import { type AddressInfo, connect as dial, createServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { after, afterEach, test } from 'node:test';
import * as pg from 'pg';
import {
    acquire,
    BusyError,
    type Connection,
    fence,
    type Lease,
    lock,
    LostError,
    nextNumber,
    refresh,
    RowlockError,
    UnavailableError,
    withLease,
} from 'rowlock';
import {
    command,
    connect,
    driver,
    endOpened,
    execute,
    isMysql,
    isPostgresql,
    open,
    pool,
    server,
    through,
    until,
} from './server';

afterEach(async () => {
    await endOpened();
    assert.equal(command('ls'), '');
});
after(async () => {
    setTimeout(() => process.exit(), 10_000).unref(); // a test that failed may hold a lease
    await pool.end();
});

test('a lease excludes, and is shown', async () => {
    const held = await acquire(pool, 'x', { note: 'mine' });
    held.check();
    assert.ok(held.remaining() > 20_000);
    const shown = command('ls', 'x');
    assert.match(shown, /mine/);
    assert.match(shown, new RegExp(`:${process.pid} `));
    await assert.rejects(acquire(pool, 'x', { wait: 0 }), (error: BusyError) => {
        assert.equal(error.code, 'ROWLOCK_BUSY');
        const { kind, host, pid, program, note, since, waiting } = error.holder;
        assert.deepEqual(
            { kind, host, pid, program, note, waiting },
            {
                kind: 'lease',
                host: hostname(),
                pid: process.pid,
                program: basename(process.argv[1]!),
                note: 'mine',
                waiting: 0,
            },
        );
        assert.ok(Math.abs(Date.parse(since!) - Date.now()) < 600_000);
        const shown = `a lease, pid ${pid} on ${host} (${program}), since ${since}, note: mine`;
        assert.equal(String(error.holder), shown);
        return error instanceof BusyError;
    });
    await held.release();
    await held.release();
    const again = await acquire(connect, 'x', { wait: 0 });
    assert.ok(again.token > held.token);
    await again.release();
});

test('a refused lease never runs the body', async () => {
    await withLease(pool, 'x', {}, async () => {
        const body = (): never => assert.fail('the body ran');
        await assert.rejects(withLease(pool, 'x', { wait: 500 }, body), BusyError);
    });
});

test('the body returns its value, and its error comes first', async () => {
    assert.equal(await withLease(pool, 'x', {}, () => 'done'), 'done');
    const fails = async (held: Lease): Promise<never> => {
        command('break', '--now', 'x');
        await once(held.signal, 'abort');
        throw new RangeError('of the body');
    };
    await assert.rejects(withLease(pool, 'x', { ttl: 3000 }, fails), RangeError);
});

test('await using releases', async () => {
    {
        await using held = await acquire(pool, 'x');
        held.check();
    }
    const loses = async (): Promise<void> => {
        await using held = await acquire(pool, 'x', { ttl: 3000 });
        command('break', '--now', 'x');
        await once(held.signal, 'abort');
        held.check();
    };
    await assert.rejects(loses(), LostError);
    const ignores = async (): Promise<void> => {
        await using held = await acquire(pool, 'x', { ttl: 3000 });
        command('break', '--now', 'x');
        await once(held.signal, 'abort');
    };
    await assert.rejects(ignores(), LostError);
});

test('a break is reported', async () => {
    const held = await acquire(pool, 'x', { ttl: 3000 });
    command('break', 'x');
    await once(held.signal, 'abort');
    assert.ok(held.signal.reason instanceof LostError);
    assert.match(held.signal.reason.reason, new RegExp(`was broken on ${hostname()}`));
    assert.throws(
        () => held.check(),
        (error) => error === held.signal.reason,
    );
    assert.equal(held.remaining(), 0);
    await assert.rejects(held.release(), LostError);
});

test('a database that hangs ends it in time', async () => {
    const source = async (): Promise<Connection> =>
        through(await connect(), (text, reply) =>
            text.includes('renew') ? new Promise(() => {}) : reply(),
        );
    const held = await acquire(source, 'x', { ttl: 3000, logger: { debug: () => {} } });
    await Promise.race([once(held.signal, 'abort'), sleep(held.remaining() + 200)]);
    assert.ok(held.signal.aborted);
    await assert.rejects(held.release(), LostError);
});

test('the end counts from before the request', async () => {
    const source = async (): Promise<Connection> =>
        through(await connect(), async (text, reply) => {
            const result = await reply();
            if (text.includes('request')) await sleep(1500);
            return result;
        });
    const held = await acquire(source, 'x', { ttl: 5000 });
    assert.ok(held.remaining() <= 3000);
    await held.release();
});

test('after a lost reply the same owner repeats the call', async () => {
    let lost = { request: 2, release: 1 };
    let opens = 0;
    const source = async (): Promise<Connection> => {
        opens++;
        return through(await connect(), async (text, reply) => {
            const result = await reply();
            for (const which of ['request', 'release'] as const) {
                if (text.includes(which) && lost[which]-- > 0) {
                    throw Object.assign(new Error('gone'), { code: 'ECONNRESET' });
                }
            }
            return result;
        });
    };
    const held = await acquire(source, 'x', { ttl: 3000 });
    assert.equal(command('ls', 'x').split(`:${process.pid} `).length, 2); // once
    await held.release();
    assert.equal(opens, 4);
    lost = { request: 1, release: 0 };
    await (await acquire(source, 'x', { wait: 0 })).release();
    assert.equal(opens, 6);
    lost = { request: 2, release: 0 };
    await assert.rejects(acquire(source, 'x', { wait: 0 }), UnavailableError);
    await until(() => command('ls') === '');
});

test('a connection that was killed is replaced', async () => {
    const ids: unknown[] = [];
    const source = async (): Promise<Connection> => {
        const connection = await connect();
        const id = isPostgresql ? 'pg_backend_pid()' : 'connection_id()';
        ids.push(await execute(connection, `SELECT ${id}`));
        return connection;
    };
    const held = await acquire(source, 'x', { ttl: 3000 });
    const other = await open();
    const kill = isPostgresql ? 'SELECT pg_terminate_backend(ID)' : 'KILL ID';
    await execute(other, kill.replace('ID', String(ids[0])));
    await sleep(4000);
    held.check();
    assert.equal(ids.length, 2);
    await held.release();
});

test('a database that was never there is reported at once', async () => {
    const source = (): Promise<Connection> =>
        Promise.reject(Object.assign(new Error('refused'), { code: 'ECONNREFUSED' }));
    await assert.rejects(acquire(source, 'x'), UnavailableError);
});

test('a waiter waits for a server that is away', async () => {
    const sockets: Socket[] = [];
    const relay = createServer((near) => {
        const far = dial(server.port, server.host);
        sockets.push(near, far);
        near.on('error', () => {}).on('close', () => far.destroy());
        far.on('error', () => {}).on('close', () => near.destroy());
        near.pipe(far).pipe(near);
    }).listen(0, '127.0.0.1');
    await once(relay, 'listening');
    const { port } = relay.address() as AddressInfo;
    const relayed = driver({ ...server, host: '127.0.0.1', port }).pool;
    if (relayed instanceof pg.Pool) relayed.on('error', () => {}); // of idle sessions
    const held = await acquire(pool, 'x');
    const waiting = acquire(relayed, 'x');
    await until(() => command('ls', 'x').includes('waiting'));
    relay.close();
    for (const socket of sockets) socket.destroy();
    await Promise.race([waiting, sleep(4000)]); // the pool of mariadb gives up after 1 s
    await once(relay.listen(port, '127.0.0.1'), 'listening');
    await held.release();
    await (await waiting).release();
    await relayed.end();
    relay.close();
});

test('an abort ends a wait, and leaves the queue', async () => {
    const held = await acquire(pool, 'x');
    const isWaiting = () => command('ls', 'x').includes('waiting');
    const leaves = async (when: string): Promise<boolean> => {
        const abort = new AbortController();
        const waiting = acquire(pool, 'x', { signal: abort.signal });
        if (when === 'waiting') await until(isWaiting);
        const before = performance.now();
        abort.abort(new Error('enough'));
        await assert.rejects(waiting, /enough/);
        assert.ok(performance.now() - before < 5000);
        const left = !isWaiting();
        await until(() => !isWaiting());
        return left;
    };
    for (const when of ['waiting', 'at once']) {
        assert.ok(await leaves(when));
    }
    await held.release();
});

test('the pool gets its connection back as it was', async () => {
    const isolation = async (): Promise<unknown> => {
        const level = isPostgresql
            ? "current_setting('transaction_isolation')"
            : isMysql
              ? '@@transaction_isolation'
              : '@@tx_isolation';
        const one = 'connect' in pool ? await pool.connect() : await borrow();
        const found = await execute(one, `SELECT ${level}`);
        (one as unknown as { release(): void }).release();
        return found;
    };
    const borrow = async (): Promise<Connection> => {
        const plain = pool as { promise?(): unknown };
        const from = (plain.promise?.() ?? pool) as { getConnection(): Promise<Connection> };
        return from.getConnection();
    };
    const before = await isolation();
    for (let round = 0; round < 12; round++) await withLease(pool, 'x', {}, () => {});
    assert.equal(await isolation(), before);
});

async function begin(connection: Connection): Promise<void> {
    if (!isPostgresql) {
        await execute(connection, 'SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED');
    }
    await execute(connection, 'BEGIN');
}

test('the fence', async () => {
    const connection = await open();
    await withLease(pool, 'x', {}, async (held) => {
        await begin(connection);
        await held.fence(connection);
        await execute(connection, 'COMMIT');
        await begin(connection);
        await assert.rejects(fence(connection, 'x', held.token - 1n), LostError);
        await execute(connection, 'ROLLBACK');
        await assert.rejects(held.fence(connection), /no transaction is open/);
    });
});

test('a lock in the transaction', async () => {
    const [one, two] = [await open(), await open()];
    if (isPostgresql) {
        await assert.rejects(lock(one, 'x'), /no transaction is open/);
        await execute(one, 'BEGIN');
        await execute(two, 'BEGIN');
    }
    await lock(one, 'x');
    const refused = lock(two, 'x', { timeout: 100 });
    await assert.rejects(refused, (error: RowlockError) => error.code === 'ROWLOCK_BUSY');
    await execute(one, 'COMMIT');
    await execute(two, 'ROLLBACK');
    await begin(two);
    await lock(two, 'x', { shared: true, timeout: 5000 });
    await execute(two, 'COMMIT');
    await assert.rejects(lock(pool as unknown as Connection, 'x'), RowlockError);
});

test('stale data is refreshed once', async () => {
    const [one, two] = [await open(), await open()];
    command('refresh', 'rates', '--max-age', '0s', '--', 'true');
    let loads = 0;
    await begin(one);
    await begin(two);
    assert.equal(await refresh(one, 'rates', 0, async () => loads++), true);
    const refused = refresh(two, 'rates', 0, () => loads++, { timeout: 0 });
    await assert.rejects(refused, (error: BusyError) => error.lock === 'subject:rates');
    await execute(one, 'COMMIT');
    for (const age of [60_000, Infinity]) {
        assert.equal(await refresh(two, 'rates', age, () => loads++), false);
    }
    await execute(two, 'COMMIT');
    assert.equal(loads, 1);
    if (isPostgresql) {
        const call = refresh(one, 'rates', 0, () => loads++);
        await assert.rejects(call, /no transaction is open/);
        assert.equal(loads, 1);
    }
});

test('no number is drawn outside a transaction', async () => {
    command('next', 'invoice');
    const connection = await open();
    await begin(connection);
    const drawn = await nextNumber(connection, 'invoice');
    await execute(connection, 'COMMIT');
    await assert.rejects(nextNumber(connection, 'invoice'), (error: RowlockError) => {
        return error instanceof RowlockError && /no transaction is open/.test(error.message);
    });
    await begin(connection);
    assert.equal(await nextNumber(connection, 'invoice'), drawn + 1n); // none was lost
    await execute(connection, 'ROLLBACK');
});
