// SPDX-License-Identifier: Apache-2.0
// The clock, and how a call reaches the database: by a session of the lease's own, which is opened
// when it is needed, and again after it was lost; or by one that a pool lends for the call.

import { hostname, uptime } from 'node:os';
import { basename } from 'node:path';
import { type Call, Link, type Row, type Source, type Values } from './engine';
import { judged, translated, UnavailableError } from './errors';

export type Logger = { debug(message: string): void; warn?(message: string): void };
/** What happens to a lease. Times are milliseconds. */
export interface LeaseEvent {
    /** 'waited': the wait has ended without the lease. */
    type: 'acquired' | 'waited' | 'lost' | 'released';
    name: string;
    token?: bigint;
    /** How long was waited; 'lost' and 'released': how long it was held. */ duration: number;
    /** Of 'lost'. */ reason?: string;
}

/** How long the rest of a call may take, beyond its wait in the server. */
export const REPLY = 5000;
/** How long a call may take that leaves the queue. */
export const WITHDRAW = 1500;
const LEAVE = 500; // how long a session may take to end
export const LONGEST = 2 ** 31 - 1; // of a timer

let slept = 0;
const booted = uptime() * 1000 - performance.now();

/** Milliseconds of a clock that is never set. performance.now() omits the sleep of a machine. */
export function now(): number {
    const ahead = uptime() * 1000 - performance.now() - booted;
    if (ahead > slept + 50) slept = ahead; // Linux counts by 10 ms; the smallest margin is 100 ms
    return performance.now() + slept;
}

/** The pause after so many failures, at random, so that clients do not return together. */
export function pauseAfter(failures: number): number {
    return Math.min(1000, 50 * 2 ** failures) * (0.5 + Math.random() / 2);
}

/** The host, the pid and the program, for those who look. */
export const caller = () => [hostname(), process.pid, basename(process.argv[1] ?? 'node')];

/** Of each pool the last request of a waiter: there is one at a time, in their order. */
const requests = new WeakMap<object, Promise<void>>();

/** Waits for its turn, and returns how it ends. */
async function turn(pool: object): Promise<() => void> {
    let leave = () => {};
    const mine = new Promise<void>((end) => (leave = end));
    const before = requests.get(pool);
    requests.set(pool, before ? before.then(() => mine) : mine);
    await before;
    return leave;
}

/** A call that is on its way: nobody has to wait for it. */
class Trip {
    readonly answer: Promise<Row>;
    isOver = false;
    link: Link | undefined; // it has one as soon as it may have sent something
    #givenUp = false;
    #isCut = false; // its session is ended already
    #leave = () => {};

    constructor(session: Session, which: Call, values: Values) {
        this.link = session.take();
        this.answer = this.#travel(session, which, values);
        this.answer.catch(() => {}); // if nobody waits any more
    }

    async #travel(session: Session, which: Call, values: Values): Promise<Row> {
        let broken = false;
        try {
            if (session.isPooled && which === 'request') this.#leave = await turn(session.source);
            this.#onlyIfWanted();
            const link = this.link ?? (await session.open());
            this.link = link;
            this.#onlyIfWanted();
            return await link.alone(which, values);
        } catch (error) {
            // a script that failed leaves settings, a transaction or a lock to its session
            broken = judged(error) === 'gone' || which === 'install';
            throw error;
        } finally {
            this.isOver = true;
            if (this.link && !this.#isCut) {
                await (this.#givenUp
                    ? session.end(this.link, broken)
                    : session.keep(this.link, broken));
            }
            this.#leave();
        }
    }

    #onlyIfWanted(): void {
        if (this.#givenUp) throw new UnavailableError('the call was given up');
    }

    /** Ends the session, at once or as soon as the driver returns it. */
    giveUp(session: Session): void {
        this.#givenUp = true;
        if (this.isOver) return;
        if (this.link) {
            this.#isCut = true;
            void session.end(this.link, true);
        }
        this.#leave();
    }
}

export class Session {
    reached = false; // whether the database ever was
    isDirect = false; // whether it may wait in the server: an own session that is no pooler's
    #own: Link | undefined;
    #request: Trip | undefined;

    constructor(
        readonly source: Source,
        readonly isPooled: boolean,
        readonly name: string,
        readonly logger: Logger | undefined,
        readonly onEvent: ((event: LeaseEvent) => void) | undefined,
    ) {}

    /**
     * One call, for `limit` ms at most. UnavailableError: it may have been executed. After the
     * signal a request is still on its way: see withdraw().
     */
    async call(which: Call, values: Values, limit: number, signal?: AbortSignal): Promise<Row> {
        const trip = new Trip(this, which, values);
        if (which === 'request') this.#request = trip;
        try {
            return await within(trip.answer, limit, signal);
        } catch (error) {
            if (which !== 'request' || !signal?.aborted) trip.giveUp(this);
            throw translated(error, this.name);
        }
    }

    /** The session that is free. */
    take(): Link | undefined {
        const free = this.#own;
        this.#own = undefined;
        return free;
    }

    async open(): Promise<Link> {
        const link: Link = await Link.open(this.source, (why) => {
            this.debug('the session ended', why);
            if (this.#own === link) void this.end(this.take()!, true);
        });
        this.reached = true;
        if (!this.isPooled) {
            try {
                await link.introduce();
            } catch (error) {
                void this.end(link, true);
                throw error;
            }
            this.isDirect = link.isDirect;
        }
        return link;
    }

    /** After a call: a session of a pool goes back. */
    async keep(link: Link, broken: boolean): Promise<void> {
        if (this.isPooled || broken || this.#own) await this.end(link, broken);
        else this.#own = link;
    }

    /** Ends a session, or gives it back. If it does not end, it is broken. */
    async end(link: Link, broken: boolean): Promise<void> {
        try {
            await within(link.close(broken), LEAVE);
        } catch (why) {
            this.debug('closing', why);
            if (!broken) await link.close(true).catch(() => {}); // a pool would miss it for ever
        }
    }

    async close(): Promise<void> {
        const link = this.take();
        if (link) await this.end(link, false);
    }

    /**
     * Leaves the queue; if that fails, the ticket is removed after 7 s. A request that is still on
     * its way may queue or acquire: it is withdrawn after its end.
     */
    async withdraw(owner: string, limit: number): Promise<void> {
        const request = this.#request;
        const cancel = () => this.call('cancel', [this.name, owner], limit);
        try {
            if (request && !request.isOver && request.link) {
                if (this.isDirect) await cancel(); // ends its wait in the server
                await within(request.answer, 1000);
            }
        } catch (why) {
            this.debug('the request that is withdrawn', why);
        }
        request?.giveUp(this);
        if (!this.reached) return; // nothing was sent
        await cancel().catch((why) => this.debug('leaving the queue', why));
    }

    debug(what: string, why: unknown): void {
        this.logger?.debug(`rowlock '${this.name}': ${what}: ${String(why)}`);
    }

    warn(what: string): void {
        const message = `rowlock '${this.name}': ${what}`;
        if (this.logger?.warn) this.logger.warn(message);
        else this.logger?.debug(message);
    }

    tell(event: Omit<LeaseEvent, 'name'>): void {
        const failed = (why: unknown) => this.warn(`onEvent failed: ${String(why)}`);
        try {
            Promise.resolve(this.onEvent?.({ name: this.name, ...event })).catch(failed);
        } catch (why) {
            failed(why);
        }
    }
}

/** The result of the work; UnavailableError after `limit` ms; at once after the signal its reason. */
export async function within<T>(work: Promise<T>, limit: number, signal?: AbortSignal): Promise<T> {
    let end = (_error: unknown) => {};
    const ended = new Promise<never>((_, reject) => (end = reject));
    const silent = new UnavailableError(`the database did not answer in ${Math.ceil(limit)} ms`);
    const timer = setTimeout(() => end(silent), Math.min(LONGEST, Math.max(0, limit)));
    const aborted = () => end(signal!.reason);
    if (signal?.aborted) aborted();
    signal?.addEventListener('abort', aborted);
    try {
        return await Promise.race([work, ended]);
    } finally {
        clearTimeout(timer);
        signal?.removeEventListener('abort', aborted);
    }
}
