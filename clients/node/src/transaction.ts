// SPDX-License-Identifier: Apache-2.0
// Calls on the application's own connection, in its transaction.

import { type Connection, Link, type Row } from './engine';
import { BusyError, LostError, refreshLost, RowlockError, sqlstate, translated } from './errors';
import { caller } from './session';

export interface LockOptions {
    /** Together with other shared locks. */ shared?: boolean;
    /** Milliseconds; 0 does not wait; without it the server's settings apply. */ timeout?: number;
}

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
    if (row?.[0] !== 't') throw await busy(link, name);
    return row;
}

async function busy(link: Link, name: string): Promise<BusyError> {
    const holder = 'SELECT rowlock.holder($1::text)';
    const row = link.isPostgresql ? await link.row(holder, [name]) : undefined;
    return new BusyError(name, row?.[0]);
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

/**
 * Calls load if the data of a name is older than maxAge milliseconds; Infinity: fresh at any age.
 * load writes the new data in the connection's transaction: of all callers one does, the others
 * wait until its COMMIT. Returns whether load was called. After an error, of load too, roll back.
 */
export async function refresh(
    connection: Connection,
    name: string,
    maxAge: number,
    load: () => unknown,
    { timeout = Infinity }: Pick<LockOptions, 'timeout'> = {},
): Promise<boolean> {
    const link = new Link(connection);
    const locked = `subject:${name}`;
    const limits = [maxAge, timeout].map((ms) => (ms === Infinity ? null : Math.ceil(ms)));
    const begin = link.call('refresh', [name, ...limits, ...caller()]);
    const version = (await meaning(locked, inside(link, begin)))?.[0] ?? null;
    if (version === '0') throw await busy(link, locked);
    if (version === null) return false;
    await load();
    await meaning(locked, link.call('refreshed', [name, version])).catch((error: unknown) => {
        throw error instanceof LostError ? refreshLost(name, error.cause) : error;
    });
    return true;
}

function meaning<T>(name: string, call: Promise<T>): Promise<T> {
    return call.catch((error: unknown) => {
        throw translated(error, name);
    });
}
