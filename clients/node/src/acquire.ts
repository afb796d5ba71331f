// SPDX-License-Identifier: Apache-2.0
// How a lease is acquired: one statement, repeated by the same owner until it returns a token.

import { randomUUID } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { checkSource, type Terms, terms } from './arguments';
import { isPool, type Source } from './engine';
import { BusyError, heldBy, UnavailableError } from './errors';
import { certainUntil, Lease } from './lease';
import { caller, type LeaseEvent, type Logger, now, pauseAfter } from './session';
import { REPLY, Session, WITHDRAW, within } from './session';
import { describe } from './transaction';

const WAIT = 5000; // the longest wait of one call in the server

/** All times are milliseconds. */
export interface LeaseOptions {
    /** How long the lease lasts if it is not renewed; 30,000; at least 1,000. */ ttl?: number;
    /** In the queue: 0 does not wait; without it there is no limit. */ wait?: number;
    /** Together with other shared holders. */ shared?: boolean;
    /** How many holders the name may have. */ permits?: number;
    /** For those who look who holds it: rowlock ls. */ note?: string;
    /** Ends the wait, and leaves the queue. */ signal?: AbortSignal;
    /** Gets warnings and debug messages, such as console; nothing is printed. */ logger?: Logger;
    /** Is called when a lease is acquired, lost or released, or a wait ends without it. */
    onEvent?: (event: LeaseEvent) => void;
}

/** Acquires a lease, or waits in the queue, also through a restart of the database; BusyError. */
export async function acquire(
    source: Source,
    name: string,
    options: LeaseOptions = {},
): Promise<Lease> {
    checkSource(source);
    const wanted = terms(name, options);
    const { signal, logger, onEvent } = options;
    signal?.throwIfAborted();
    try {
        if (signal) setMaxListeners(0, signal); // it may end many waits; Node warns of more than 10
    } catch {
        // a signal of jsdom, which does not warn
    }
    const began = now();
    const pooled = typeof source !== 'function';
    const session = new Session(source, pooled, name, logger, onEvent);
    try {
        const lease = await request(session, wanted, began + wanted.wait, signal);
        session.tell({ type: 'acquired', token: lease.token, duration: now() - began });
        return lease;
    } catch (error) {
        session.tell({ type: 'waited', duration: now() - began });
        throw error;
    }
}

async function request(session: Session, of: Terms, deadline: number, signal?: AbortSignal) {
    const owner = randomUUID().replaceAll('-', '');
    try {
        return await repeat(session, of, owner, deadline, signal);
    } catch (error) {
        if (error instanceof UnavailableError) {
            // a request without an answer may have queued, or acquired; nobody waits for its end
            void session.withdraw(owner, REPLY).then(() => session.close());
            throw error;
        }
        await session.withdraw(owner, WITHDRAW);
        const isBusy = error instanceof BusyError;
        const holder = isBusy ? await describe(session, of.name, error.holder) : undefined;
        await session.close();
        throw holder ? new BusyError(of.name, holder) : error;
    }
}

async function repeat(
    session: Session,
    { name, ttl, wait, mode, permits, note }: Terms,
    owner: string,
    deadline: number,
    signal?: AbortSignal,
): Promise<Lease> {
    let failures = 0;
    let holder: string | null | undefined;
    for (;;) {
        const sent = now();
        const left = deadline - sent;
        // the first call only queues; then an own session waits in the server
        const inside = session.isDirect ? Math.floor(Math.max(0, Math.min(WAIT, left))) : 0;
        const values = [name, ttl, owner, inside, mode, permits, ...caller(), note];
        let pause: number;
        try {
            const limit = Math.min(inside, left) + REPLY;
            const row = await session.call('request', values, limit, signal);
            signal?.throwIfAborted(); // also if the lease was granted meanwhile
            const token = row?.[0];
            if (token && now() < certainUntil(sent, ttl)) {
                return new Lease(session, name, owner, BigInt(token), ttl, sent);
            }
            failures = 0;
            holder = row?.[3] ?? holder;
            const isNext = Boolean(token) || row?.[2] === '0'; // the next call gets it
            if (now() >= deadline && !isNext) throw new BusyError(name, heldBy(holder));
            pause = session.isDirect || isNext ? 0 : Number(row?.[4]) * (0.75 + Math.random() / 4);
        } catch (error) {
            signal?.throwIfAborted();
            if (!(error instanceof UnavailableError)) throw error;
            // a lost reply is repeated at least once
            const isLate = now() >= deadline && (failures > 0 || !session.reached);
            const isTooLate = now() >= deadline + REPLY - WITHDRAW;
            if (isLate || isTooLate || (wait === Infinity && !session.reached)) throw error;
            session.warn(`waiting, and asking again: ${error.message}`);
            pause = pauseAfter(failures++);
        }
        pause = Math.min(pause, Math.max(0, deadline - now()) || pause);
        if (pause > 0) await within(sleep(pause), Infinity, signal);
    }
}

/** Runs a function under a lease, and releases it. LostError, unless the function has failed. */
export async function withLease<T>(
    source: Source,
    name: string,
    options: LeaseOptions,
    body: (lease: Lease) => T | Promise<T>,
): Promise<T> {
    const lease = await acquire(source, name, options);
    let result: T;
    try {
        result = await body(lease);
    } catch (error) {
        await lease.release().catch(() => {});
        throw error;
    }
    await lease.release();
    return result;
}
