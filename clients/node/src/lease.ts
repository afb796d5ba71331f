/// <reference lib="esnext.disposable" preserve="true" />
// SPDX-License-Identifier: Apache-2.0
// Leases: acquired on a connection of their own, and renewed by a timer.

import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Connection, Source } from './engine';
import { BusyError, leaseLost, LostError, UnavailableError } from './errors';
import { caller, LEAVE, type Logger, now, pauseAfter, Session, within } from './session';
import { fence } from './transaction';

const WAIT = 5000; // the longest wait of one call
const ANSWER = 10_000; // how long its answer may take beyond that

/** All times are milliseconds. */
export interface LeaseOptions {
    /** How long the lease lasts if it is not renewed; 30,000. */ ttl?: number;
    /** In the queue: 0 does not wait; without it there is no limit. */ wait?: number;
    /** Together with other shared holders. */ shared?: boolean;
    /** How many holders the name may have. */ permits?: number;
    /** For those who look who holds it: rowlock ls. */ note?: string;
    /** Ends the wait, and leaves the queue. */ signal?: AbortSignal;
    /** Gets debug messages; nothing is printed. */ logger?: Logger;
}

/** A lease is certain until its ttl after the last successful call was sent, less a margin. */
const certainUntil = (sent: number, ttl: number) => sent + ttl - Math.min(1000, ttl / 10);

/** A lease that is held: see acquire() and withLease(). */
export class Lease implements AsyncDisposable {
    readonly #loss = new AbortController();
    /** Aborts when the lease is lost, before another caller can get it. */
    readonly signal = this.#loss.signal;
    #failures = 0;
    #end: number; // until then it is certain, whether or not the database answers
    #due: number; // the next renewal
    #timer?: NodeJS.Timeout;
    #renewing?: Promise<void>;
    #released = false;
    #reported = false;

    /** @internal token: greater than that of each earlier lease that this one excludes. */
    constructor(
        private readonly session: Session,
        readonly name: string,
        readonly owner: string,
        readonly token: bigint,
        readonly ttl: number,
        sent: number,
    ) {
        this.#end = certainUntil(sent, ttl);
        this.#due = sent + ttl / 3;
        this.#watch();
    }

    /** The milliseconds for which the lease is still certain; 0: it is lost, or released. */
    remaining(): number {
        if (this.#released || this.signal.aborted) return 0;
        return Math.max(0, this.#end - now());
    }

    /** Throws LostError if the lease is not certain any more. Asks only the clock. */
    check(): void {
        if (this.remaining() > 0) return;
        if (!this.#released) this.#lose('its time is over');
        this.#reported = true;
        throw leaseLost(this.name);
    }

    /** Keeps the lease valid until the transaction of that connection ends; or LostError. */
    async fence(connection: Connection): Promise<void> {
        this.check();
        await fence(connection, this.name, this.token).catch((error: unknown) => {
            this.#reported ||= error instanceof LostError;
            throw error;
        });
    }

    /** Ends the lease. LostError: it was lost before. */
    async release(): Promise<void> {
        if (this.#released) return;
        let certain = this.remaining() > 0;
        this.#released = true;
        clearTimeout(this.#timer);
        await this.#renewing;
        const end = () => this.session.call('release', [`${this.token}`], this.ttl / 3);
        // a second call finds nothing if only the reply of the first was lost
        const repeat = () => end().then(() => undefined);
        const row = await end()
            .catch(repeat)
            .catch((why) => this.session.debug('release', why));
        if (row && row[0] !== 't' && row[0] !== '1') certain = false;
        await this.session.close(false);
        if (certain && !this.signal.aborted) return;
        this.#lose('it was lost before its end');
        throw leaseLost(this.name);
    }

    /** Releases; LostError, unless check() or fence() has thrown it before. */
    async [Symbol.asyncDispose](): Promise<void> {
        await this.release().catch((error: unknown) => {
            if (!this.#reported) throw error;
        });
    }

    #lose(why: unknown): void {
        if (this.signal.aborted) return;
        this.session.debug('lost', why);
        clearTimeout(this.#timer);
        this.#loss.abort(leaseLost(this.name, why));
    }

    /** Renews in time, and announces the end in time, also while a renewal hangs. */
    #watch(): void {
        clearTimeout(this.#timer);
        if (this.#released || this.signal.aborted) return;
        if (this.remaining() <= 0) return this.#lose('not renewed in time');
        if (now() >= this.#due) this.#renewing = this.#renew();
        // a timer stops while the machine sleeps, so none is longer than 1 s
        const pause = Math.min(1000, this.remaining(), this.#due - now());
        this.#timer = setTimeout(() => this.#watch(), pause);
    }

    async #renew(): Promise<void> {
        const sent = now();
        this.#due = Infinity; // until it has ended
        try {
            await this.session.call('renew', [`${this.token}`, this.ttl], this.ttl / 3);
            this.#end = certainUntil(sent, this.ttl);
            this.#due = sent + this.ttl / 3;
            this.#failures = 0;
        } catch (error) {
            if (error instanceof LostError) return this.#lose(error);
            this.session.debug('renewal', error); // again, until the end
            this.#due = now() + pauseAfter(this.#failures++);
        }
        this.#watch();
    }
}

/** Acquires a lease, or waits in the queue, also through a restart of the database; BusyError. */
export async function acquire(source: Source, name: string, options: LeaseOptions = {}) {
    const { shared, permits, note, signal, logger } = options;
    signal?.throwIfAborted();
    const session = new Session(source, name, logger);
    const owner = randomUUID().replaceAll('-', '');
    const ttl = Math.round(options.ttl ?? 30_000);
    const mode = permits !== undefined ? 'permit' : shared ? 'shared' : 'exclusive';
    const deadline = now() + (options.wait ?? Infinity);
    let failures = 0;
    let queued = false;
    let holder: string | null | undefined;
    try {
        for (;;) {
            const sent = now();
            const wait = Math.max(0, Math.min(WAIT, Math.ceil(deadline - sent)));
            const wanted = [name, ttl, owner, wait, mode, permits ?? null];
            const values = [...wanted, ...caller(), note ?? null];
            const grace = queued ? 0 : LEAVE; // a first call does not wait, but may acquire
            try {
                const row = await session.call('request', values, wait + ANSWER, signal, grace);
                const token = row?.[0];
                signal?.throwIfAborted(); // also if the lease was granted meanwhile
                if (token && now() < certainUntil(sent, ttl)) {
                    return new Lease(session, name, owner, BigInt(token), ttl, sent);
                }
                failures = 0;
                holder = row?.[3] ?? holder;
                queued = !token && row?.[2] !== '0'; // else the next call gets a lease that lasts
                if (now() >= deadline && queued) throw new BusyError(name, holder);
            } catch (error) {
                signal?.throwIfAborted();
                const again = error instanceof UnavailableError && session.reached;
                // a lost reply is repeated at least once
                if (!again || (now() >= deadline && failures > 0)) throw error;
                session.debug('waiting', error);
                await within(sleep(pauseAfter(failures++)), WAIT, signal).catch(() => {});
            }
            signal?.throwIfAborted();
        }
    } catch (error) {
        // leaves the queue; if that fails, the ticket is removed after 7 s
        const leaving = session.call('cancel', [name, owner], LEAVE);
        await leaving.catch((why) => session.debug('leaving', why));
        await session.close(false);
        throw error;
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
