// SPDX-License-Identifier: Apache-2.0
// A stand-in for a database with rowlock, for the tests of an application: it has no SQL, and
// excludes within this process only.

import { ANSWER, type Call, type Connection, type Row, type Values } from './engine';

interface Held {
    token: bigint;
    owner: string; // '': of a transaction
    mode: string;
    permits: number | null;
    ends: number;
    who: readonly (string | null)[]; // host, pid, program, note
    since: string;
}

const refusal = (code: string, text: string) =>
    Object.assign(new Error(`rowlock: ${text}`), { code, severity: 'ERROR' });

/** A connection of the fake, for lock() and fence(). Of SQL it knows BEGIN, COMMIT, ROLLBACK. */
export class FakeConnection implements Connection {
    #database: Fake;
    #undo: (() => void)[] | undefined; // of a transaction: what its COMMIT releases, or ROLLBACK
    #rollback: (() => void)[] = [];
    /** The statements that the application has sent. */ readonly statements: string[] = [];

    /** @internal */
    constructor(database: Fake) {
        this.#database = database;
    }

    async query(statement: string | { text?: string; sql?: string } = ''): Promise<object> {
        const text = typeof statement === 'string' ? statement : (statement.text ?? statement.sql);
        this.statements.push(text ?? '');
        const word = /^\s*(\w+)/.exec(text ?? '')?.[1]?.toUpperCase() ?? '';
        if (['BEGIN', 'START'].includes(word)) this.#undo ??= [];
        if (['COMMIT', 'ROLLBACK', 'END'].includes(word)) {
            if (word === 'ROLLBACK') for (const undo of this.#rollback) undo();
            for (const release of this.#undo ?? []) release();
            this.#undo = undefined;
            this.#rollback = [];
        }
        return { rows: [], rowCount: 0 };
    }

    async [ANSWER](which: Call, values: Values): Promise<Row> {
        const lasts = ['next', 'refresh', 'refreshed', 'fence', 'exclusive', 'shared'];
        if ((lasts.includes(which) || which.startsWith('try')) && !this.#undo) {
            throw refusal('25P01', 'no transaction is open: send BEGIN first');
        }
        const [row, release, undo] = await this.#database.answer(which, values);
        if (release) this.#undo?.push(release);
        if (undo) this.#rollback.unshift(undo);
        return row;
    }

    release(): void {}
    async end(): Promise<void> {}
}

type Step = (() => void) | undefined;
type Answer = [Row, release?: Step, undo?: Step];

/** In the place of a pool: `withLease(fake(), 'x', ...)`. */
export class Fake {
    readonly #held = new Map<string, Held[]>();
    readonly #queues = new Map<string, string[]>();
    readonly #counters = new Map<string, bigint>();
    readonly #loaded = new Map<string, number>();
    readonly #broken = new Map<string, string>(); // by token
    readonly #known = new Set<string>(); // jobs
    readonly #claimed = new Map<bigint, string>(); // by token
    /** The jobs that are due: each is once, and again after `due.add(job)`. */
    readonly due = new Set<string>();
    /** The runs that have ended. */
    readonly runs: { job: string; outcome: string; output: string }[] = [];
    #failure: unknown;
    #last = 0n;

    async connect(): Promise<FakeConnection> {
        return new FakeConnection(this);
    }
    async end(): Promise<void> {}

    /** Somebody else holds the name, until the function that is returned is called. */
    hold(name: string, about: { host?: string; program?: string; note?: string } = {}): () => void {
        const { host = 'elsewhere', program = 'other', note = null } = about;
        const who = [host, '1', program, note];
        const values: Values = [name, Infinity, 'somebody else', 0, 'exclusive', null, ...who];
        const token = BigInt(this.#request(values)?.[0] ?? 0);
        if (!token) throw new Error(`${name} is held`);
        return () => void this.#remove(token);
    }

    /** Ends the leases of a name: their holders learn it at their next renewal or fence. */
    break(name: string, reason = 'broken by the test'): void {
        for (const { token } of this.#holders(name)) {
            this.#broken.set(String(token), reason);
            this.#remove(token);
        }
    }

    /** Each call fails with this error, until fail() is called without one. */
    fail(error?: unknown): void {
        this.#failure = error;
    }

    /** @internal */
    async answer(which: Call, values: Values): Promise<Answer> {
        if (this.#failure !== undefined) throw this.#failure;
        const [first, second, third] = values;
        const name = String(first);
        switch (which) {
            case 'request':
                return [this.#request(values)];
            case 'cancel':
                this.#queues.set(
                    name,
                    this.#waiters(name).filter((owner) => owner !== second),
                );
                for (const { token, owner } of this.#holders(name)) {
                    if (owner === second) this.#remove(token);
                }
                return [['1']];
            case 'renew':
                this.#find(BigInt(first!)).ends = Date.now() + Number(second);
                return [['1']];
            case 'server':
                return [['rowlock/fake']];
            case 'release':
                return [[this.#remove(BigInt(first!)) ? '1' : '0']];
            case 'claim':
                return [this.#claim(values)];
            case 'finish':
                return [[this.#finish(BigInt(first!), String(second), String(third)) ? '1' : '0']];
            case 'fence':
                this.#find(BigInt(second!));
                return [['1']];
            case 'holder':
                return [this.#describe(name)];
            case 'next':
                return this.#next(name);
            case 'refresh':
                return this.#refresh(name, second as number | null, third as number | null);
            case 'refreshed': {
                const before = this.#loaded.get(name);
                this.#loaded.set(name, Date.now());
                return [[null], undefined, () => this.#loaded.set(name, before ?? -Infinity)];
            }
            default: {
                const mode = which.endsWith('hared') ? 'shared' : 'exclusive';
                const limit = which.startsWith('try') ? Number(second) : Infinity;
                const release = await this.#transaction(name, mode, limit);
                return [[release ? '1' : '0'], release];
            }
        }
    }

    #holders(name: string): Held[] {
        const held = (this.#held.get(name) ?? []).filter(({ ends }) => ends > Date.now());
        this.#held.set(name, held);
        return held;
    }

    #waiters(name: string): string[] {
        return this.#queues.get(name) ?? [];
    }

    #remove(token: bigint): boolean {
        let found = false;
        for (const [name, held] of this.#held) {
            const others = held.filter((one) => one.token !== token);
            found ||= others.length < held.length;
            this.#held.set(name, others);
        }
        return found;
    }

    #find(token: bigint): Held {
        for (const name of this.#held.keys()) {
            const found = this.#holders(name).find((one) => one.token === token);
            if (found) return found;
        }
        const reason = this.#broken.get(String(token)) ?? 'it has expired';
        throw refusal('RL005', `${reason}: stop the work`);
    }

    /** Grants it, unless others conflict. */
    #grant(name: string, mode: string, permits: number | null, more: Partial<Held>): Held | null {
        const held = this.#holders(name);
        const together = mode !== 'exclusive' && held.every((one) => one.mode === mode);
        const most = mode === 'permit' ? (permits ?? 1) : Infinity;
        if (held.length > 0 && !(together && held.length < most)) return null;
        const since = new Date().toISOString();
        const common = { token: ++this.#last, owner: '', ends: Infinity, who: [], since };
        const one = { ...common, mode, permits, ...more };
        held.push(one);
        return one;
    }

    #request(values: Values): Row {
        const [name, ttl, owner, , mode, permits, host, pid, program, note] = values;
        const [key, mine] = [String(name), String(owner)];
        const ends = Date.now() + Number(ttl);
        const own = this.#holders(key).find((one) => one.owner === mine);
        if (own) own.ends = ends;
        const queue = this.#waiters(key);
        if (!queue.includes(mine)) queue.push(mine);
        this.#queues.set(key, queue);
        const place = queue.indexOf(mine) + 1;
        const who = [host, pid, program, note].map((value) => (value == null ? null : `${value}`));
        const more = { owner: mine, ends, who };
        const isNext = place === 1;
        const held =
            own ?? (isNext && this.#grant(key, String(mode), permits as number | null, more));
        if (!held) return [null, '1', String(place), 'the holder', '20'];
        queue.splice(place - 1, 1);
        return [String(held.token), null, null, null, '0'];
    }

    #claim(values: Values): Row {
        const [name, , owner, ttl] = values;
        const job = String(name);
        if (!this.#known.has(job)) this.due.add(job);
        this.#known.add(job);
        const who = values.slice(10).map((value) => (value == null ? null : `${value}`));
        const more = { owner: String(owner), ends: Date.now() + Number(ttl), who };
        const held = this.due.has(job) && this.#grant(`job:${job}`, 'exclusive', null, more);
        if (!held) return [null, null, null, 'waiting', '10', null, null];
        this.due.delete(job);
        this.#claimed.set(held.token, job);
        return [String(held.token), String(Date.now()), '0', 'claimed', '0', null, null];
    }

    #finish(token: bigint, outcome: string, output: string): boolean {
        const job = this.#claimed.get(token);
        this.#claimed.delete(token);
        if (job !== undefined) this.runs.push({ job, outcome, output });
        if (job !== undefined && outcome === 'not started') this.due.add(job);
        return this.#remove(token);
    }

    #describe(name: string): Row {
        const [held] = this.#holders(name);
        if (!held) return undefined;
        const [host = 'here', pid = '1', program = 'test', note = null] = held.who;
        const waiting = String(this.#waiters(name).length);
        const kind = held.owner ? 'lease' : 'transaction';
        return [kind, pid, host, program, held.since, null, note, waiting];
    }

    async #transaction(name: string, mode: string, limit: number) {
        const until = Date.now() + limit;
        for (;;) {
            const held = this.#grant(name, mode, null, {});
            if (held) return () => void this.#remove(held.token);
            if (Date.now() >= until) return undefined;
            await new Promise((again) => setTimeout(again, 10));
        }
    }

    async #next(counter: string): Promise<Answer> {
        const release = await this.#transaction(`counter:${counter}`, 'exclusive', Infinity);
        const number = (this.#counters.get(counter) ?? 0n) + 1n;
        this.#counters.set(counter, number);
        return [[String(number)], release, () => this.#counters.set(counter, number - 1n)];
    }

    async #refresh(name: string, maxAge: number | null, wait: number | null): Promise<Answer> {
        const isFresh = () =>
            Date.now() - (this.#loaded.get(name) ?? -Infinity) <= (maxAge ?? 8e15);
        if (isFresh()) return [[null]];
        const release = await this.#transaction(`subject:${name}`, 'exclusive', wait ?? Infinity);
        if (!release) return [['0']];
        return isFresh() ? [[null], release] : [['1'], release];
    }
}

/** A new one, on which nothing is locked. */
export function fake(): Fake {
    return new Fake();
}
