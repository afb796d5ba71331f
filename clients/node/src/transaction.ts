// SPDX-License-Identifier: Apache-2.0
// Calls on the application's own connection, in its transaction.

import { type Connection, Link, type Row } from './engine';
import { BusyError, RowlockError, sqlstate, translated } from './errors';

export interface LockOptions {
    /** Together with other shared locks. */ shared?: boolean;
    /** Milliseconds; 0 does not wait; without it the server's settings apply. */ timeout?: number;
}

const HOLDER = `SELECT concat_ws(', ', 'a ' || kind, 'pid ' || pid || ' on ' || host,
    'since ' || since, 'note: ' || note) FROM rowlock.holders WHERE name = $1::text LIMIT 1`;

/** Locks a name until the transaction ends; BusyError. MariaDB: begins one if none is open. */
export async function lock(connection: Connection, name: string, options: LockOptions = {}) {
    const link = new Link(connection);
    const mode = options.shared ? 'shared' : 'exclusive';
    const lockIt = link.isPostgresql ? lockPostgresql : lockMariadb;
    await meaning(name, lockIt(link, name, mode, options.timeout));
}

async function lockPostgresql(link: Link, name: string, mode: string, timeout?: number) {
    const wait = `SELECT rowlock.${mode}($1::text)`;
    if (timeout === undefined) return inside(link, link.row(wait, [name]));
    const call = `SELECT rowlock.try_${mode}($1::text, $2::bigint * interval '1 ms')`;
    const row = await inside(link, link.row(call, [name, Math.ceil(timeout)]));
    if (row?.[0] !== 't') throw new BusyError(name, (await link.row(HOLDER, [name]))?.[0]);
    return row;
}

/** The lock of a statement that is its own transaction protects nothing. */
async function inside(link: Link, call: Promise<Row>): Promise<Row> {
    const row = await call;
    if (link.isOpen === false) throw new RowlockError('no transaction is open: send BEGIN first');
    return row;
}

async function lockMariadb(link: Link, name: string, mode: string, timeout?: number) {
    if (timeout !== undefined) {
        const limit = `SESSION innodb_lock_wait_timeout = ${Math.ceil(timeout / 1000)}`;
        await link.row(`SET @rowlock_wait = @@innodb_lock_wait_timeout, ${limit}`);
    }
    const call = link.row(`CALL rowlock_begin_${mode}(?)`, [name]).catch((error: unknown) => {
        if (sqlstate(error) !== 'RL007') throw error; // a transaction is open
        return link.row(`CALL rowlock_${mode}(?)`, [name]);
    });
    if (timeout === undefined) return call;
    const restore = () => link.row('SET SESSION innodb_lock_wait_timeout = @rowlock_wait');
    return call.then(restore, async (error: unknown) => {
        await restore().catch(() => {}); // the first error is the reason
        throw error;
    });
}

/** Keeps a lease valid until the connection's transaction ends. LostError: it is lost. */
export async function fence(connection: Connection, name: string, token: bigint) {
    const link = new Link(connection);
    await meaning(name, inside(link, link.call('fence', [name, `${token}`])));
}

/** The next number of a counter, without a gap: a rollback takes it back. */
export async function nextNumber(connection: Connection, counter: string) {
    const row = await meaning(`counter:${counter}`, new Link(connection).call('next', [counter]));
    return BigInt(row?.[0] ?? 0);
}

function meaning<T>(name: string, call: Promise<T>): Promise<T> {
    return call.catch((error: unknown) => {
        throw translated(error, name);
    });
}
