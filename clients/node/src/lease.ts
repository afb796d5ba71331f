// SPDX-License-Identifier: Apache-2.0
// A lease that is held: it is renewed by a timer, and its end is announced in time.

import { inspect } from 'node:util';
import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Call, Connection, Row, Values } from './engine';
import { BusyError, leaseLost, LostError, RowlockError, UnavailableError } from './errors';
import { now, pauseAfter, REPLY, type Session, within } from './session';
import { fence } from './transaction';

const BACKGROUND = 500; // how long the end of a block waits for the release of a lost lease
const IS_OPEN = 'a transaction that called fence() is open; end it before the lease';

/** A lease is certain until its ttl after the last successful call was sent, less a margin. */
export const certainUntil = (sent: number, ttl: number) => sent + ttl - Math.min(1000, ttl / 10);

/** The call that ends a lease, and its values. */
export type Ending = readonly [Call, Values];

const held = new Set<Holding>();
/**
 * Releases all leases that this process holds; for its end, such as on SIGTERM. A body that still
 * runs under one finds it lost before another caller can get it. Also waits for those whose release
 * another call has begun.
 */
export async function releaseAll(): Promise<void> {
    const why = 'released by releaseAll';
    await Promise.allSettled([...held].map((holding) => holding.revoke(why)));
}

/** What a Lease stands for. It does not refer to the Lease, which a program may drop. */
class Holding {
    readonly #loss = new AbortController();
    readonly signal = this.#loss.signal;
    readonly #cut = new AbortController(); // ends the renewal that is on its way
    readonly #acquired = now();
    isReported = false;
    #failures = 0;
    #failure = ''; // of the last renewal
    #sent: number; // when the last successful call was
    #end: number; // until then it is certain, whether or not the database answers
    #due: number; // the next renewal
    #asked = 0; // when the last renewal was sent
    #timer?: NodeJS.Timeout;
    #renewing?: Promise<void>;
    #released = false;
    #releasing?: Promise<void>;
    #isRevoked = false;

    constructor(
        private readonly session: Session,
        private readonly token: bigint,
        private readonly ttl: number,
        sent: number,
        private readonly ending: (() => Ending) | undefined, // of a run: it records the result, too
    ) {
        setMaxListeners(0, this.signal);
        this.#sent = sent;
        this.#end = certainUntil(sent, ttl);
        this.#due = sent + ttl / 3;
        held.add(this);
        this.#watch();
    }

    remaining(): number {
        if (this.#released || this.signal.aborted) return 0;
        return Math.max(0, this.#end - now());
    }

    check(): void {
        if (this.remaining() > 0) return;
        if (!this.#released) this.#expire();
        this.isReported = true;
        throw this.#lost();
    }

    #lost(): LostError {
        const { name } = this.session;
        if (this.signal.aborted) return this.signal.reason as LostError;
        const text = `the lease of '${name}' was released: acquire another one`;
        return new LostError(text, name, 'it was released');
    }

    /** patience: how long it waits for the release of a lost lease. */
    release(patience = BACKGROUND): Promise<void> {
        return (this.#releasing ??= this.#release(patience));
    }

    /** Releases it, perhaps under a body that still runs: so it announces the loss first. */
    async revoke(why: string): Promise<void> {
        this.#isRevoked = true;
        if (!this.#released) this.#lose(why);
        await this.release(Infinity);
    }

    async #release(patience: number): Promise<void> {
        this.#released = true;
        clearTimeout(this.#timer);
        if (!this.signal.aborted && this.#renewing) {
            // a renewal that came after the release would announce a loss
            const left = REPLY - (now() - this.#asked);
            await within(this.#renewing, left).catch((why: unknown) => this.#cut.abort(why));
        }
        if (!this.signal.aborted && now() >= this.#end) this.#expire();
        const releasing = this.#sendRelease();
        if (this.signal.aborted) {
            // it may be held until it expires, but nobody waits for that
            await within(releasing, patience).catch(() => {});
        } else {
            await releasing;
        }
        if (this.signal.aborted) throw this.#lost();
    }

    async #sendRelease(): Promise<void> {
        const limit = Math.min(Math.max(2000, this.ttl / 3), REPLY); // a release waits 1 s for locks
        const [which, values] = this.ending?.() ?? (['release', [this.token]] as const);
        const end = () => this.session.call(which, values, limit);
        try {
            const answer = await end().catch((error: unknown) => this.#endAgain(end, error));
            if (answer?.[0] === '0') this.#lose('it ended before it was released');
            else if (!this.signal.aborted) this.#tell('released');
        } catch (error) {
            if (error instanceof BusyError && !this.signal.aborted) {
                const what = `the lease of '${this.session.name}' was not released`;
                throw new RowlockError(`${what}, and stays until it expires: ${IS_OPEN}`, error);
            }
            if (this.ending) this.session.warn(`the result was not recorded: ${String(error)}`);
            else this.session.debug('release', error); // it expires
        } finally {
            held.delete(this);
            await this.session.close();
        }
    }

    /** After a failed call. A result is sent again as long as the lease lasts. */
    async #endAgain(end: () => Promise<Row>, why: unknown): Promise<Row> {
        if (!this.ending) {
            // a second release finds nothing if only the reply of the first was lost
            if (why instanceof UnavailableError) return end().then(() => ['1']);
            throw why;
        }
        for (let [error, failures] = [why, 0]; ; failures++) {
            const mayPass = error instanceof UnavailableError || error instanceof BusyError;
            const isOver = this.#isRevoked || this.signal.aborted || now() >= this.#end;
            if (!mayPass || (failures > 0 && isOver)) throw error;
            this.session.warn(`the result is sent again: ${String(error)}`);
            await sleep(pauseAfter(failures));
            try {
                return await end();
            } catch (next) {
                error = next;
            }
        }
    }

    /** The handle was dropped: nobody can release it any more, or look whether it is lost. */
    drop(): void {
        held.delete(this);
        if (this.#released || this.signal.aborted) return;
        this.#lose('it was dropped without release(), and is not renewed any more');
        void (this.#renewing ?? Promise.resolve()).then(() => this.session.close());
    }

    #expire(): void {
        const since = ((now() - this.#sent) / 1000).toFixed(0);
        this.#lose(`not renewed for ${since} s${this.#failure}`);
    }

    #lose(reason: string, cause?: unknown): void {
        if (this.signal.aborted) return;
        clearTimeout(this.#timer);
        this.session.warn(`the lease is lost: ${reason}`);
        this.#tell('lost', { reason });
        this.#loss.abort(leaseLost(this.session.name, reason, cause));
    }

    #tell(type: 'lost' | 'released', more = {}): void {
        const duration = now() - this.#acquired;
        this.session.tell({ type, token: this.token, duration, ...more });
    }

    /** Renews in time, and announces the end in time, also while a renewal hangs. */
    #watch(): void {
        clearTimeout(this.#timer);
        if (this.#released || this.signal.aborted) return;
        if (this.remaining() <= 0) return this.#expire();
        if (now() >= this.#due) this.#renewing = this.#renew();
        // a timer stops while the machine sleeps, so none is longer than 1 s
        const pause = Math.min(1000, this.remaining(), this.#due - now());
        this.#timer = setTimeout(() => this.#watch(), pause);
    }

    async #renew(): Promise<void> {
        const sent = (this.#asked = now());
        this.#due = Infinity; // until it has ended
        const limit = Math.min(Math.max(1000, this.ttl / 3), this.#end - sent);
        try {
            const values = [this.token, this.ttl];
            await this.session.call('renew', values, limit, this.#cut.signal);
            this.#sent = sent;
            this.#end = certainUntil(sent, this.ttl);
            this.#due = sent + this.ttl / 3;
            this.#failures = 0;
            this.#failure = '';
        } catch (error) {
            if (error instanceof LostError) return this.#lose(error.reason, error);
            if (this.#released) return this.session.debug('the renewal', error);
            const text = error instanceof Error ? error.message : String(error);
            this.session.warn(`the renewal failed, and is repeated: ${text}`); // until the end
            this.#failure = `: ${text}`;
            this.#due = now() + pauseAfter(this.#failures++);
        }
        this.#watch();
    }
}

const dropped = new FinalizationRegistry<Holding>((holding) => holding.drop());

/** A lease that is held: see acquire() and withLease(). */
export class Lease implements AsyncDisposable {
    readonly #holding: Holding;
    /** Aborts when the lease is lost, before another caller can get it; its reason: LostError. */
    readonly signal: AbortSignal;

    /** @internal token: greater than that of each earlier lease that this one excludes. */
    constructor(
        session: Session,
        readonly name: string,
        readonly owner: string,
        readonly token: bigint,
        readonly ttl: number,
        sent: number,
        ending?: () => Ending,
    ) {
        this.#holding = new Holding(session, token, ttl, sent, ending);
        this.signal = this.#holding.signal;
        dropped.register(this, this.#holding, this.#holding);
    }

    /** The milliseconds for which the lease is still certain; 0: it is lost, or released. */
    remaining(): number {
        return this.#holding.remaining();
    }

    /** Throws LostError if the lease is not certain any more. Asks only the clock. */
    check(): void {
        this.#holding.check();
    }

    /** Keeps the lease valid until the transaction of that connection ends; or LostError. */
    async fence(connection: Connection): Promise<void> {
        this.check();
        await this.#reporting(fence(connection, this.name, this.token));
    }

    /** Ends the lease. LostError: it was lost before. */
    async release(): Promise<void> {
        dropped.unregister(this.#holding);
        await this.#reporting(this.#holding.release());
    }

    /** @internal Releases it under a function that still runs, which learns of it first. */
    async revoke(why: string): Promise<void> {
        dropped.unregister(this.#holding);
        await this.#holding.revoke(why);
    }

    async #reporting(work: Promise<void>): Promise<void> {
        await work.catch((error: unknown) => {
            this.#holding.isReported ||= error instanceof LostError;
            throw error;
        });
    }

    /** Releases; LostError, unless check(), fence() or release() has thrown it before. */
    async [Symbol.asyncDispose](): Promise<void> {
        const wasReported = this.#holding.isReported;
        await this.release().catch((error: unknown) => {
            if (!wasReported || !(error instanceof LostError)) throw error;
        });
    }

    toJSON(): object {
        const { name, token } = this;
        return { name, token: String(token), remaining: Math.floor(this.remaining()) };
    }

    [inspect.custom](): string {
        return `Lease ${inspect({ ...this.toJSON(), token: this.token })}`;
    }
}
