// SPDX-License-Identifier: Apache-2.0
// The clock, and a session that is opened when it is needed, and again after it was lost.

import { hostname, uptime } from 'node:os';
import { basename } from 'node:path';
import { type Call, Link, type Row, type Source, type Values } from './engine';
import { isConnection, RowlockError, translated, UnavailableError } from './errors';

export type Logger = { debug(message: string): void };
/** How long it may take to leave: twice, because a call may be under way. */
export const LEAVE = 2000;

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

export class Session {
    reached = false; // whether the database ever was
    #link: Promise<Link> | undefined;

    constructor(
        readonly source: Source,
        readonly name: string,
        readonly logger: Logger | undefined,
    ) {}

    /** One call, ended after `limit` ms. UnavailableError: it may have been executed. */
    async call(which: Call, values: Values, limit: number, signal?: AbortSignal, grace?: number) {
        try {
            return await within(this.#send(which, values), limit, signal, grace);
        } catch (error) {
            if (isConnection(error) || error instanceof RowlockError) void this.close(true);
            throw translated(error, this.name);
        }
    }

    async #send(which: Call, values: Values): Promise<Row> {
        const ended = (why: unknown) => {
            this.debug('the session ended', why);
            if (this.#link === opening) void this.close(true);
        };
        const opening: Promise<Link> = (this.#link ??= Link.open(this.source, ended));
        const link = await opening;
        this.reached = true;
        await link.remember();
        if (opening !== this.#link) throw new UnavailableError('the call was given up');
        return link.call(which, values);
    }

    /** Ends the session, also one that is still being opened. */
    async close(broken: boolean): Promise<void> {
        const opened = this.#link;
        this.#link = undefined;
        const close = async (how: boolean) => (await opened)?.close(how);
        await within(close(broken), LEAVE).catch((why) => {
            this.debug('closing', why);
            if (!broken) void close(true).catch(() => {}); // or the pool would never get it back
        });
    }

    debug(what: string, why: unknown): void {
        this.logger?.debug(`rowlock '${this.name}': ${what}: ${String(why)}`);
    }
}

/** The result of the work, or UnavailableError: after `limit` ms, or `grace` after the signal. */
export async function within<T>(work: Promise<T>, limit: number, signal?: AbortSignal, grace = 0) {
    let late = () => {};
    const end = new Promise<never>((_, reject) => {
        late = () => reject(new UnavailableError('the database does not answer'));
    });
    const timers = [setTimeout(late, limit)];
    const aborted = () => timers.push(setTimeout(late, grace));
    if (signal?.aborted) aborted();
    signal?.addEventListener('abort', aborted);
    try {
        return await Promise.race([work, end]);
    } finally {
        timers.forEach((timer) => clearTimeout(timer));
        signal?.removeEventListener('abort', aborted);
    }
}
