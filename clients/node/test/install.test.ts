// SPDX-License-Identifier: Apache-2.0
// Installs in the database ROWLOCK_TEST_URL, and leaves it installed.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { after, afterEach, beforeEach, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { acquire, type Dialect, install, NotInstalledError, RowlockError, schema } from 'rowlock';
import { fake } from 'rowlock/fake';
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
    url,
} from './server';

const dialect: Dialect = isPostgresql ? 'postgresql' : isMysql ? 'mysql' : 'mariadb';
const META = isPostgresql ? 'rowlock.meta' : 'rowlock_meta';
// of installers, as sql/*/install_lock.sql
const LOCK = {
    postgresql: 'SELECT pg_advisory_lock(8246125620394091379)',
    mariadb: "SELECT GET_LOCK(CONCAT('rowlock:', MD5(DATABASE())), 60)",
    mysql: "SELECT GET_LOCK(CONCAT('rowlock:', LEFT(SHA2(DATABASE(), 256), 32)), 60)",
}[dialect];
const WAITING = isPostgresql
    ? `SELECT count(*) FROM pg_locks JOIN pg_database d ON d.oid = database
       WHERE NOT granted AND locktype = 'advisory' AND datname = current_database()`
    : `SELECT count(*) FROM information_schema.processlist
       WHERE db = DATABASE() AND state = 'User lock'`;

beforeEach(() => void command('schema', 'uninstall', '--force'));
afterEach(async () => {
    await endOpened();
    command('schema', 'uninstall', '--force');
    await install(pool);
});
after(async () => void (await pool.end()));

async function leases(): Promise<void> {
    await (await acquire(pool, 'x', { wait: 0 })).release();
}

test('it installs once, and leases work', async () => {
    await assert.rejects(acquire(pool, 'x'), (error: NotInstalledError) => {
        assert.ok(error instanceof NotInstalledError);
        return error.message.includes('run: npx rowlock install');
    });
    assert.equal(await install(pool), true);
    await leases();
    assert.equal(await install(connect), false);
    const said = command('schema', 'install'); // of the default technique, and complete
    assert.match(said, isPostgresql ? /already.*technique native/ : /already.*technique row/);
});

test('of two at once one installs', async () => {
    const [holder, watch] = [await open(), await open()];
    await execute(holder, LOCK);
    const both = [install(pool), install(connect)];
    let ended = 0;
    for (const one of both) void one.finally(() => ended++).catch(() => {});
    while (Number(await execute(watch, WAITING)) < 2) {
        assert.equal(ended, 0);
        await sleep(20);
    }
    const unlock = isPostgresql ? 'pg_advisory_unlock_all()' : 'RELEASE_ALL_LOCKS()';
    await execute(holder, `SELECT ${unlock}`);
    assert.deepEqual((await Promise.all(both)).sort(), [false, true]);
    await leases();
});

test('the next version is accepted, and any other refused', async () => {
    await install(pool);
    const connection = await open();
    await execute(connection, `UPDATE ${META} SET version = version + 1`);
    assert.equal(await install(pool), false);
    for (const [version, advice] of [
        [-1, /is version -1, this package works with [1-9] to [1-9]; run: rowlock schema upgrade/],
        [99, /is version 99, this package works with [1-9] to [1-9]; use a newer package/],
    ] as const) {
        await execute(connection, `UPDATE ${META} SET version = ${version}`);
        await assert.rejects(install(pool), (error: RowlockError) => {
            assert.ok(error instanceof RowlockError);
            return advice.test(error.message);
        });
    }
});

test('an install that fails leaves nothing: neither objects, nor a lock, nor settings', async () => {
    const connection = await open();
    // in its way: a view, or a table of an engine without transactions
    const [inTheWay, away] = isPostgresql
        ? ['SCHEMA rowlock CREATE VIEW job AS SELECT 1 AS one', 'SCHEMA rowlock CASCADE']
        : ['TABLE rowlock_number (a INT) ENGINE = MyISAM', 'TABLE rowlock_number'];
    const settings = isPostgresql
        ? "SELECT current_setting('client_min_messages')"
        : 'SELECT CONCAT(@@sql_mode, @@autocommit)';
    const own = driver(server).pool;
    await execute(connection, `CREATE ${inTheWay}`);
    try {
        await assert.rejects(install(own), /rowlock|job/);
        const lent = own as unknown as { query: never };
        assert.equal(await execute(lent, settings), await execute(connection, settings));
    } finally {
        await own.end();
        await execute(connection, `DROP ${away}`);
    }
    assert.equal(await install(pool), true);
    await leases();
});

test('an interrupted install is completed', { skip: isPostgresql }, async () => {
    await install(pool);
    const connection = await open();
    await execute(connection, `UPDATE ${META} SET version = 0`);
    await execute(connection, 'DROP PROCEDURE rowlock_request_row');
    assert.equal(await install(pool), true);
    await leases();
});

const run = (...words: string[]) =>
    spawnSync(process.execPath, [join(__dirname, '..', 'dist', 'cli.js'), ...words], {
        encoding: 'utf8',
    });

test('the printed text is that of the command', () => {
    for (const each of ['postgresql', 'mariadb', 'mysql']) {
        const printed = command('schema', 'print', each, '--role', 'shop');
        assert.equal(run('install', '--print', each, '--role', 'shop').stdout, printed);
        const { stdout } = run('install', '--print', each);
        assert.doesNotMatch(stdout, /^ *GRANT /m);
        assert.ok(stdout.length > 100_000);
    }
    assert.match(schema('mysql', 'shop@%'), /TO 'shop'@'%'/);
    for (const wrong of ['x; DROP', '', 'x@y']) {
        assert.throws(() => schema('postgresql', wrong), RangeError);
    }
    assert.throws(() => schema('oracle' as Dialect), RangeError);
});

test('the command installs', () => {
    for (const said of ['rowlock is installed\n', 'rowlock is installed already\n']) {
        const { status, stdout, stderr } = run('install', url.href);
        assert.deepEqual([status, stdout, stderr], [0, said, '']);
    }
    assert.equal(run('install', '--role', 'x', url.href).status, 2);
    const refused = run('install', 'sqlite:x');
    assert.equal(refused.status, 1);
    assert.match(refused.stderr, /^rowlock: no URL of PostgreSQL or MariaDB/);
});

test('a fake needs no install', async () => {
    assert.equal(await install(fake()), false);
});
