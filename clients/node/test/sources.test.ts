// SPDX-License-Identifier: Apache-2.0
// On a real server: what an application's pools, settings and drivers make of the calls.

import assert from 'node:assert/strict';
import { createServer, type AddressInfo } from 'node:net';
import { once } from 'node:events';
import { after, afterEach, test } from 'node:test';
import * as mariadb from 'mariadb';
import * as mysql2 from 'mysql2';
import * as pg from 'pg';
import {
    acquire,
    BusyError,
    type Connection,
    fence,
    type LeaseOptions,
    lock,
    LostError,
    nextNumber,
    type Pool,
    refresh,
    RowlockError,
    UnavailableError,
    withLease,
} from 'rowlock';
import {
    command,
    connect,
    endOpened,
    execute,
    isMysql,
    isPostgresql,
    open,
    pool,
    server,
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

type Ending = Pool & { end(done?: () => void): unknown };
const isOfMariadb = process.env['ROWLOCK_TEST_DRIVER'] === 'mariadb';

/** A pool of the same driver, whose sessions have the application's own settings. */
function configured(settings: object, statement?: string, most = 3): Ending {
    if (isPostgresql) return new pg.Pool({ ...server, max: most, ...settings });
    if (isOfMariadb) {
        const first = statement === undefined ? {} : { initSql: statement };
        return mariadb.createPool({ ...server, connectionLimit: most, ...first, ...settings });
    }
    const made = mysql2.createPool({ ...server, connectionLimit: most, ...settings });
    if (statement) made.on('connection', (connection) => void connection.query(statement));
    return process.env['ROWLOCK_TEST_DRIVER'] === 'mysql2' ? made : (made.promise() as never);
}

/** A connection of a pool, and how it goes back. */
async function borrow(from: Pool): Promise<[Connection, () => void]> {
    const plain = ((from as { promise?(): Pool }).promise?.() ?? from) as {
        getConnection?(): Promise<Connection>;
        connect(): Promise<Connection>;
    };
    const one = await (plain.getConnection ? plain.getConnection() : plain.connect());
    return [one, () => (one as unknown as { release(): void }).release()];
}

async function inTransaction(work: (connection: Connection) => Promise<void>, from: Pool) {
    const [one, giveBack] = await borrow(from);
    try {
        if (!isPostgresql) {
            await execute(one, 'SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED');
        }
        const begin = isPostgresql ? 'BEGIN ISOLATION LEVEL READ COMMITTED' : 'START TRANSACTION';
        await execute(one, `${begin} READ WRITE`);
        await work(one);
    } finally {
        await execute(one, 'ROLLBACK');
        giveBack();
    }
}

const NAMES = [
    'plain',
    "\\'",
    'a\\',
    "x', 5, null, null, null, null, @a); DROP TABLE victim; -- ",
    '?:name $1 %s',
    'ε€ä\u{1f512}',
    'a"b`c',
];

/** Each name is one lock, for every client; the command shows it. */
async function namesAreData(from: Pool): Promise<void> {
    for (const name of NAMES) {
        await withLease(from, name, { wait: 0, note: name }, async (held) => {
            const [shown] = JSON.parse(command('--json', 'ls')) as { name: string; note: string }[];
            assert.deepEqual([shown!.name, shown!.note], [name, name]);
            await assert.rejects(acquire(connect, name, { wait: 0 }), (error: BusyError) => {
                return error instanceof BusyError && error.holder.pid === process.pid;
            });
            await inTransaction((own) => fence(own, name, held.token), from);
        });
        for (const subject of [`counter:${name}`, `subject:${name}`]) {
            if (!isPostgresql)
                await execute(await open(), `CALL rowlock_prepare('${sql(subject)}')`);
        }
        await inTransaction(async (own) => {
            assert.equal(typeof (await nextNumber(own, name)), 'bigint');
            assert.equal(await refresh(own, name, Infinity, () => {}), true);
        }, from);
    }
}
const sql = (text: string) => text.replaceAll('\\', '\\\\').replaceAll("'", "''");

const lists: Record<string, [settings: object, statement?: string][]> = {
    pg: [
        [{ types: { getTypeParser: () => () => 'parsed' } }],
        [{ binary: true }],
        [{ options: '-c default_transaction_isolation=serializable' }],
        [{ options: '-c default_transaction_read_only=on' }],
        [{ options: '-c standard_conforming_strings=off -c client_encoding=LATIN1' }],
        [{ query_timeout: 60_000, statement_timeout: 60_000 }],
    ],
    mysql2: [
        [{ charset: 'latin1' }, "SET sql_mode = 'NO_BACKSLASH_ESCAPES'"],
        [{ charset: 'utf8' }, "SET sql_mode = 'ANSI_QUOTES,NO_BACKSLASH_ESCAPES', autocommit = 0"],
        [{ rowsAsArray: true, nestTables: true, namedPlaceholders: true }],
        [{ nestTables: '_', typeCast: () => 'parsed', supportBigNumbers: true }],
        [{ queryFormat: (text: string) => text.replace(/:(\w+)/g, 'NULL') }],
        [
            { stringifyObjects: true },
            'SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE, READ ONLY',
        ],
    ],
    mariadb: [
        [{ charset: 'latin1' }, "SET sql_mode = 'NO_BACKSLASH_ESCAPES'"],
        [{ collation: 'utf8mb3_bin' }, "SET sql_mode = 'ANSI_QUOTES', autocommit = 0"],
        [{ rowsAsArray: true, metaAsArray: true, namedPlaceholders: true }],
        [{ nestTables: true, typeCast: () => 'parsed', bigIntAsNumber: true }],
        [{ nestTables: '_' }, 'SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE, READ ONLY'],
    ],
};
const kind = process.env['ROWLOCK_TEST_DRIVER']!.replace('/promise', '');
for (const [settings, statement] of lists[kind]!) {
    const options = Object.keys(settings).join(', ');
    test(`names and answers whatever the application sets: ${options} ${statement ?? ''}`, async () => {
        const set = configured(settings, statement);
        await namesAreData(set);
        await set.end();
    });
}

test('a pool of one session serves a lease, a waiter, and the application', async () => {
    const single = configured({}, undefined, 1);
    const held = await acquire(single, 'x', { ttl: 3000 });
    const waiting = acquire(single, 'x');
    await until(() => command('ls', 'x').includes('waiting'));
    const before = held.remaining();
    while (held.remaining() <= before) {
        const [one, giveBack] = await borrow(single);
        await execute(one, 'SELECT 1');
        giveBack();
        await new Promise(setImmediate); // the pool of mariadb passes over those that wait
    }
    await held.release();
    await (await waiting).release();
    await single.end();
});

test('a pool that is exhausted is unavailable, and a signal ends the wait for it', async () => {
    const single = configured({}, undefined, 1);
    const [, giveBack] = await borrow(single);
    await assert.rejects(acquire(single, 'x', { wait: 100 }), UnavailableError);
    const abort = new AbortController();
    const waiting = acquire(single, 'x', { signal: abort.signal });
    setImmediate(() => abort.abort(new Error('enough')));
    await assert.rejects(waiting, /enough/);
    giveBack();
    await (await acquire(single, 'x', { wait: 0 })).release(); // it lost no session
    await single.end();
});

/** A server that accepts, and says nothing. */
async function mute(): Promise<{ port: number; close(): void }> {
    const silent = createServer(() => {}).listen(0, '127.0.0.1');
    await once(silent, 'listening');
    return { port: (silent.address() as AddressInfo).port, close: () => silent.close() };
}

test('what connecting fails with', async () => {
    const silent = await mute();
    const closed = await mute();
    closed.close();
    const at = (more: object) => configured({ ...more });
    const fails = async (from: Ending, expected: object | RegExp, options: LeaseOptions = {}) => {
        if (from instanceof pg.Pool) from.on('error', () => {});
        await assert.rejects(acquire(from, 'x', options), expected as Error);
        void Promise.resolve(from.end(() => {})).catch(() => {}); // some connect yet
    };
    const away = { code: 'ROWLOCK_UNAVAILABLE' };
    // this pool tells why it cannot connect only after acquireTimeout (10 s); a call lasts 5 s, and
    // is UnavailableError then: the README says to set less
    const quick = isOfMariadb ? { acquireTimeout: 500, initializationTimeout: 400 } : {};
    for (const options of [{}, { wait: 0 }, { wait: 700 }]) {
        await fails(at({ port: closed.port, ...quick }), away, options);
    }
    await fails(at({ host: 'no-such-host.invalid', ...quick }), away);
    await fails(at({ port: silent.port, ...quick }), away, { wait: 0 });
    const refused = (error: { errno?: number; code?: string; cause?: { errno?: number } }) =>
        isPostgresql
            ? error.code === '3D000'
            : [1044, 1045, 1049].includes((error.cause?.errno ?? error.errno)!);
    await fails(at({ database: 'no_such_database', ...quick }), refused as unknown as object);
    if (!isPostgresql)
        await fails(at({ password: 'wrong', ...quick }), refused as unknown as object);
    if (isPostgresql) await fails(at({ ssl: true }), /does not support SSL/);
    silent.close();
});

test('the end of a lease does not wait for a transaction of its own caller', async () => {
    const [own, giveBack] = await borrow(pool);
    const ends = withLease(connect, 'x', { ttl: 3000 }, async (held) => {
        if (!isPostgresql) {
            await execute(own, 'SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED');
        }
        await execute(own, 'BEGIN');
        await held.fence(own);
    });
    const isClear = (error: RowlockError) =>
        error instanceof RowlockError && /fence\(\)/.test(error.message);
    await assert.rejects(ends, isClear);
    await execute(own, 'ROLLBACK');
    giveBack();
    await until(() => command('ls') === ''); // it expires
});

test('a refused lock names the holder, also of a transaction that goes on', async () => {
    await withLease(pool, 'x', { note: 'mine' }, async () => {
        const own = await open();
        if (isPostgresql) await execute(own, 'BEGIN');
        await assert.rejects(lock(own, 'x', { timeout: 0 }), (error: BusyError) => {
            assert.equal(error.holder.pid, process.pid);
            assert.equal(error.holder.note, 'mine');
            return error instanceof BusyError;
        });
        await execute(own, 'ROLLBACK');
    });
});

test('a transaction that would not see the changes of the last holder is refused', async () => {
    const own = await open();
    const work = [
        () => lock(own, 'x'),
        () => nextNumber(own, 'x'),
        () => refresh(own, 'x', 0, () => {}),
    ];
    for (const level of ['REPEATABLE READ', 'SERIALIZABLE']) {
        for (const call of work) {
            if (isPostgresql) await execute(own, `BEGIN ISOLATION LEVEL ${level}`);
            else {
                await execute(own, `SET SESSION TRANSACTION ISOLATION LEVEL ${level}`);
                await execute(own, 'BEGIN');
            }
            // by the server, or by lock() before it asks that
            const refused = isPostgresql ? { code: 'RL001' } : /READ COMMITTED/;
            await assert.rejects(call(), refused);
            await execute(own, 'ROLLBACK');
            if (isPostgresql) continue;
            await assert.rejects(lock(own, 'x', { timeout: 0 }), refused); // it begins none
            const name = isMysql ? 'transaction_isolation' : 'tx_isolation';
            const shown = await execute(own, `SELECT @@${name}`);
            assert.equal(shown, level.replace(' ', '-'));
        }
    }
});

test('a lease of an own session is shown with the name of its application', async () => {
    if (!isPostgresql) return;
    await withLease(connect, 'x', {}, async () => {
        const names =
            "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'rowlock/node'";
        assert.equal(Number(await execute(await open(), names)), 1);
    });
});

test('a renewal that finds its lease gone says by whom', async () => {
    const held = await acquire(pool, 'x', { ttl: 3000 });
    command('break', '--now', 'x');
    await once(held.signal, 'abort');
    assert.match((held.signal.reason as LostError).reason, /broken/);
    await assert.rejects(held.release(), LostError);
});
