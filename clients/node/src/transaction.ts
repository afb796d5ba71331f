// SPDX-License-Identifier: Apache-2.0
// Calls on the application's own connection, in its transaction.

import { type Connection, Link, type Values } from './engine';
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
    if (timeout === undefined) return inside(link, `SELECT rowlock.${mode}($1::text)`, [name]);
    const call = `SELECT rowlock.try_${mode}($1::text, $2::bigint * interval '1 ms')`;
    const row = await inside(link, call, [name, Math.ceil(timeout)]);
    if (row?.[0] !== 't') throw new BusyError(name, (await link.row(HOLDER, [name]))?.[0]);
    return row;
}

/** The lock of a statement that is its own transaction protects nothing. */
async function inside(link: Link, call: string, values: Values) {
    const row = await link.row(call, values);
    if (link.isOpen === false)
        throw new RowlockError(`no transaction is open: BEGIN before ${call}`);
    return row;
}

async function lockMariadb(link: Link, name: string, mode: string, timeout?: number) {
    if (timeout !== undefined) {
        const limit = `SESSION innodb_lock_wait_timeout = ${Math.ceil(timeout / 1000)}`;
        await link.row(`SET @rowlock_wait = @@innodb_lock_wait_timeout, ${limit}`);
    }
    try {
        return await link.row(`CALL rowlock_begin_${mode}(?)`, [name]);
    } catch (error) {
        if (sqlstate(error) !== 'RL007') throw error; // a transaction is open
        return await link.row(`CALL rowlock_${mode}(?)`, [name]);
    } finally {
        const limit = 'SET SESSION innodb_lock_wait_timeout = @rowlock_wait';
        if (timeout !== undefined) await link.row(limit);
    }
}

/** Keeps a lease valid until the connection's transaction ends. LostError: it is lost. */
export async function fence(connection: Connection, name: string, token: bigint) {
    const [link, values] = [new Link(connection), [name, `${token}`]];
    const call = link.isPostgresql
        ? inside(link, 'SELECT rowlock.fence($1::text, $2::bigint)', values)
        : link.row('CALL rowlock_fence(?, ?)', values);
    await meaning(name, call);
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
