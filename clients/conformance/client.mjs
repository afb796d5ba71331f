// SPDX-License-Identifier: Apache-2.0
// client.mjs URL [DRIVER]: the conformance client in JavaScript: a command a line on standard input,
// an answer a line. The driver is mysql2/promise (the default), mysql2 or mariadb, or pg.

import { EventEmitter, once } from 'node:events';
import { basename } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import mariadb from 'mariadb';
import mysql2 from 'mysql2';
import mysql2promise from 'mysql2/promise';
import pg from 'pg';
import { acquire, Jobs, lock, nextNumber, refresh, withLease } from 'rowlock';
import { BusyError, LostError, UnavailableError } from 'rowlock';

const url = process.argv[2];
const isPostgresql = url.startsWith('postgresql:');
const driver = process.argv[3] ?? 'mysql2/promise';
const mysql = { mariadb, mysql2, 'mysql2/promise': mysql2promise }[driver];
const cut = () => {}; // the next query of a connection that was cut fails
const pool = poolOf(url);

function poolOf(at, max = 10) {
    if (isPostgresql) return new pg.Pool({ connectionString: at, max }).on('error', cut);
    const limits = { connectionLimit: max, ...(driver === 'mariadb' && { acquireTimeout: 4000 }) };
    return mysql.createPool({ ...settingsOf(at), ...limits }); // docs/clients.md says why 4000
}

function settingsOf(at) {
    const { hostname: host, port, username: user, password, pathname } = new URL(at);
    return { host, port: Number(port), user, password, database: pathname.slice(1) };
}

let lease;
let connection; // of the transactions
let begun = false;
let interrupt = new AbortController();
let jobs;
let serving; // a promise
let stop; // an AbortController
const runs = []; // that have begun, each with the function that ends it
let leave; // that of the last one
const bodies = new EventEmitter(); // 'began'
process.on('SIGINT', () => interrupt.abort());

async function own(begin = true) {
    if (!connection) {
        connection = isPostgresql
            ? new pg.Client(url)
            : await mysql.createConnection(settingsOf(url));
        connection.on('error', cut);
        await (isPostgresql
            ? connection.connect()
            : query(connection, 'SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED'));
    }
    if ((begin || isPostgresql) && !begun) await query(connection, 'BEGIN');
    begun = true;
    return connection;
}

async function end(statement) {
    begun = false;
    await query(connection, statement);
}

function query(on, sql) {
    return driver === 'mysql2' ? on.promise().query(sql) : on.query(sql);
}

const calls = {
    async acquire({ name, ttl, wait, mode, permits, note, url: at }) {
        interrupt = new AbortController();
        const { signal } = interrupt;
        const shared = mode === 'shared';
        lease = await acquire(at ? poolOf(at) : pool, name, { ttl, wait, shared, permits, note, signal });
        return { token: Number(lease.token) };
    },
    async crowd({ name, callers, pool: max }) {
        const few = poolOf(url, max);
        const work = () => query(few, 'SELECT 1');
        await Promise.all(Array.from({ length: callers }, () => withLease(few, name, {}, work)));
        await (driver === 'mysql2' ? few.promise() : few).end();
        return { number: callers };
    },
    job({ name, body, fresh, max_run: maxRun, ttl, every, cron, zone, retry, backoff, missed }) {
        if (fresh) jobs = new Jobs(pool);
        const schedule = every ? { every } : { cron, zone };
        jobs.job(name, { ...schedule, ttl, maxRun, retry, backoff, missed }, async (run) => {
            run.note('37 mails');
            if (body === 'fails') throw new Error('no mail server');
            if (body !== 'waits') return;
            await new Promise((end) => {
                run.signal.addEventListener('abort', end);
                runs.push([run, end]);
                bodies.emit('began');
            });
            run.check();
        });
    },
    async due() {
        return { number: await jobs.runDue() };
    },
    serve({ grace = 60_000 }) {
        stop = new AbortController();
        serving = jobs.run({ signal: stop.signal, grace });
    },
    async began({ limit }) {
        if (!runs.length) await once(bodies, 'began', { signal: AbortSignal.timeout(limit) });
        [lease, leave] = runs.shift();
        const { token, retry, job, due } = lease;
        return { token: Number(token), number: retry, job, due: due.getTime() };
    },
    end: () => leave(),
    async stop() {
        stop.abort();
        await serving;
    },
    check() {
        lease.check();
        return { remaining: Math.floor(lease.remaining()) };
    },
    async lost({ limit }) {
        const { signal } = lease;
        if (!signal.aborted) await Promise.race([once(signal, 'abort'), sleep(limit)]);
        return signal.aborted ? { is: 'lost' } : {};
    },
    async fence() {
        await lease.fence(await own());
    },
    release: () => lease.release(),
    async lock({ name, mode, wait }) {
        await lock(await own(false), name, { shared: mode === 'shared', timeout: wait });
    },
    async next({ counter }) {
        return { number: Number(await nextNumber(await own(), counter)) };
    },
    async refresh({ name, age, wait, load }) {
        const mine = await own();
        const work = async () => {
            if (load === 'fail') throw new Error('the load failed');
            if (load === 'commit') await query(mine, 'COMMIT');
        };
        return { loaded: Number(await refresh(mine, name, age, work, { timeout: wait })) };
    },
    async execute({ sql }) {
        await query(await own(), sql);
    },
    commit: () => end('COMMIT'),
    async rollback() {
        if (begun) await end('ROLLBACK');
    },
};

function failure(error) {
    if (error instanceof BusyError) return { is: 'busy', holder: String(error.holder) };
    if (error instanceof LostError) return { is: 'lost', text: String(error) };
    if (error instanceof UnavailableError) return { is: 'unavailable', text: String(error) };
    if (error?.name === 'AbortError') return { is: 'cancelled' };
    return { is: 'error', text: String(error) };
}

function say(answer) {
    process.stdout.write(JSON.stringify(answer) + '\n');
}

say({ is: 'ok', pid: process.pid, program: basename(process.argv[1]) });
for await (const line of createInterface({ input: process.stdin })) {
    const { do: call, ...values } = JSON.parse(line);
    try {
        say({ is: 'ok', ...(await calls[call](values)) });
    } catch (error) {
        say(failure(error));
    }
}
process.kill(process.pid, 'SIGKILL'); // a lease is not released
