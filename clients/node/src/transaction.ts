// SPDX-License-Identifier: Apache-2.0
// Calls on the application's own connection, in its transaction.

import { patience, sent, text } from './arguments';
import { type Call, type Connection, Link, type Row, type Values } from './engine';
import { BusyError, codeOf, heldBy, Holder, LostError, noTransaction } from './errors';
import { refreshLost, RowlockError, translated } from './errors';
import { caller, type Session, WITHDRAW } from './session';

export interface LockOptions {
    /** Together with other shared locks. */ shared?: boolean;
    /** Milliseconds; 0 does not wait; without it the server's settings apply. */ timeout?: number;
}

/**
 * Locks a name until the transaction ends; BusyError. MariaDB: begins one if none is open, and the
 * session must be at READ COMMITTED.
 */
export async function lock(
    connection: Connection,
    name: string,
    { shared = false, timeout }: LockOptions = {},
): Promise<void> {
    text('name', name, 255);
    if (typeof shared !== 'boolean') throw new TypeError('shared must be a boolean');
    const limit = patience('timeout', timeout);
    const link = new Link(connection);
    const mode = shared ? 'Shared' : 'Exclusive';
    const lockIt = link.isMariadb ? lockMariadb : lockPostgresql;
    await meaning(name, lockIt(link, name, mode, limit));
}

type Mode = 'Shared' | 'Exclusive';
async function lockPostgresql(link: Link, name: string, mode: Mode, limit: number) {
    const wait = mode === 'Shared' ? 'shared' : 'exclusive';
    if (limit === Infinity) return void (await inside(link, wait, [name]));
    const row = await inside(link, `try${mode}`, [name, Math.ceil(limit)]);
    if (row?.[0] !== '1') throw await busy(link, name);
}

/** The lock of a statement that is its own transaction protects nothing. */
async function inside(link: Link, which: Call, values: Values): Promise<Row> {
    const row = await link.call(which, values);
    if (link.isOpen === false) throw noTransaction();
    return row;
}

async function lockMariadb(link: Link, name: string, mode: Mode, limit: number) {
    const level = (await link.call('isolation', []))?.[1];
    if (level !== 'READ-COMMITTED') {
        const why = `this is at ${level}, whose snapshot would hide what the previous holder wrote`;
        const advice = 'SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED';
        throw new RowlockError(`'${name}' needs a session at READ COMMITTED; ${why}: ${advice}`);
    }
    const attempt = () =>
        link.call(`begin${mode}`, [name]).catch((error: unknown) => {
            if (codeOf(error) !== '30007') throw error; // a transaction is open
            return link.call(mode === 'Shared' ? 'shared' : 'exclusive', [name]);
        });
    if (limit === Infinity) return void (await attempt());
    await link.limited(Math.ceil(limit / 1000), attempt).catch(async (error: unknown) => {
        const meant = translated(error, name);
        throw meant instanceof BusyError ? await busy(link, name, meant) : error;
    });
}

async function busy(link: Link, name: string, known?: BusyError): Promise<BusyError> {
    const row = await link.call('holder', [name]).catch(() => undefined); // the caller gets the refusal
    const holder = row ? holderIn(row) : (known?.holder ?? heldBy(undefined));
    return new BusyError(name, holder, known?.cause);
}

function holderIn(row: NonNullable<Row>): Holder {
    const [kind, pid, host, program, since, , note, waiting] = row.map(
        (value) => value ?? undefined,
    );
    const process = pid === undefined ? undefined : Number(pid);
    return new Holder(kind, host, process, program, since, note, Number(waiting ?? 0));
}

/** Who holds a lease that was refused; `known` if that cannot be found any more. */
export async function describe(session: Session, name: string, known: Holder): Promise<Holder> {
    try {
        const row = await session.call('holder', [name], WITHDRAW);
        return row ? holderIn(row) : known;
    } catch (why) {
        session.debug('looking for the holder', why);
        return known;
    }
}

/** Keeps a lease valid until the connection's transaction ends. LostError: it is lost. */
export async function fence(connection: Connection, name: string, token: bigint): Promise<void> {
    text('name', name, 255);
    if (typeof token !== 'bigint') throw new TypeError('token must be a bigint');
    await meaning(name, inside(new Link(connection), 'fence', [name, token]));
}

/** The next number of a counter, without a gap: a rollback takes it back. */
export async function nextNumber(connection: Connection, counter: string): Promise<bigint> {
    text('counter', counter, 247);
    const row = await meaning(
        `counter:${counter}`,
        inside(new Link(connection), 'next', [counter]),
    );
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
    { timeout }: Pick<LockOptions, 'timeout'> = {},
): Promise<boolean> {
    text('name', name, 247);
    if (typeof load !== 'function') throw new TypeError('load must be a function');
    const limits = [patience('maxAge', maxAge), patience('timeout', timeout)].map(sent);
    const link = new Link(connection);
    const locked = `subject:${name}`;
    const begin = inside(link, 'refresh', [name, ...limits, ...caller()]);
    const version = (await meaning(locked, begin))?.[0] ?? null;
    if (version === '0') throw await busy(link, locked);
    if (version === null) return false;
    await load();
    await meaning(locked, link.call('refreshed', [name, BigInt(version)])).catch(
        (error: unknown) => {
            throw error instanceof LostError ? refreshLost(name, error.cause) : error;
        },
    );
    return true;
}

function meaning<T>(name: string, call: Promise<T>): Promise<T> {
    return call.catch((error: unknown) => {
        throw translated(error, name);
    });
}
