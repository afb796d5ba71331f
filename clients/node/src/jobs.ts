// SPDX-License-Identifier: Apache-2.0
// Jobs: the loop that claims due runs, and a run. The server decides what is due, by its clock, and
// how long to pause before the next question. A run is the lease of job:NAME, whose end is a call
// that also records the result.

import { randomUUID } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { checkSource, LONGEST_TTL, milliseconds, patience, text, whole } from './arguments';
import type { Connection, Row, Source } from './engine';
import { LostError, OverrunError, passes, RowlockError, UnavailableError } from './errors';
import { certainUntil, type Ending, Lease } from './lease';
import { caller, type LeaseEvent, type Logger, LONGEST, now, pauseAfter } from './session';
import { REPLY, Session, within } from './session';

const AGAIN = 60_000; // after an error of one job; and the longest pause
const OUTPUT = 2048; // bytes that the server keeps of a run
const YEAR = 366 * 86_400_000;

export interface JobsOptions {
    /** How many runs at once in this process; 10. */ limit?: number;
    /** Gets warnings and debug messages, such as console; nothing is printed. */ logger?: Logger;
    /** Is called when the lease of a run, job:NAME, is acquired, lost or released. */
    onEvent?: (event: LeaseEvent) => void;
}

/** When a job is due: `every` or `cron`. */
type Schedule =
    | { /** A period: '5m'. */ every: string; cron?: undefined }
    | { every?: undefined; /** Five fields, or '@daily'; in the time zone `zone`. */ cron: string };
/** All times are milliseconds. All nodes must pass the same. */
export type JobOptions = Schedule & {
    /** Of `cron`: 'UTC', the default, '+02:00', or 'Europe/Berlin'. */ zone?: string;
    /** Another node takes over from one that died after this; 30,000; at least 1,000. */ ttl?: number;
    /** `run.signal` aborts after this, and the run is recorded as timed out. */ maxRun?: number;
    /** How often a failed or lost run is repeated. Without it: once, if it was lost. */
    retry?: number;
    /** The pause before a failed run is repeated; 10,000. */ backoff?: number;
    /** Of due times that no node saw: one run, or none; 'once'. */ missed?: 'once' | 'skip';
    /** The name stays taken for this time, even if the run ends sooner; 0. */ atLeast?: number;
    /** How many runs are kept; 100. */ history?: number;
    /** For those who look who runs it: rowlock ls. */ note?: string;
};

/** The terms of a job, as a claim sends them after its owner; and those for this process. */
function jobTerms(options: JobOptions) {
    const { every, cron, zone = 'UTC', ttl = 30_000, maxRun, retry, note, ...more } = options;
    const { backoff = 10_000, missed = 'once', atLeast = 0, history = 100, ...others } = more;
    const [wrong] = Object.keys(others);
    if (wrong) throw new TypeError(`a job has no option ${wrong}`);
    if ((every === undefined) === (cron === undefined)) {
        throw new TypeError("pass every: '5m' or cron: '0 3 * * *', not both");
    }
    if (missed !== 'once' && missed !== 'skip') {
        throw new RangeError(`missed must be 'once' or 'skip', not ${String(missed)}`);
    }
    const lasts = Math.round(milliseconds('ttl', ttl, 1000, LONGEST_TTL));
    const sent = [
        lasts,
        text('zone', zone),
        retry === undefined ? null : whole('retry', retry, 0),
        Math.round(milliseconds('backoff', backoff, 0, YEAR)),
        missed,
        Math.round(milliseconds('atLeast', atLeast, 0, YEAR)),
        whole('history', history, 1),
    ];
    return {
        schedule: cron === undefined ? `every ${text('every', every)}` : text('cron', cron),
        sent,
        ttl: lasts,
        maxRun: maxRun === undefined ? Infinity : milliseconds('maxRun', maxRun, 1, LONGEST_TTL),
        note: note === undefined ? null : text('note', note),
    };
}

/** A job that this process performs. */
class Job {
    owner = ''; // of a claim that may be repeated
    ask = 0; // when to ask for it
    isAnswered = false;
    former: string | undefined; // another node's schedule, if that was reported
    performance: Performance | undefined; // of its run

    constructor(
        readonly name: string,
        readonly terms: ReturnType<typeof jobTerms>,
        readonly work: (run: Run) => unknown,
    ) {}
}

/** What a Run stands for: the lease, and how the run ends. */
class Performance {
    readonly #stop = new AbortController();
    readonly signal = this.#stop.signal;
    readonly lease: Lease;
    readonly #until: number; // then it exceeds maxRun
    #timer: NodeJS.Timeout | undefined;
    #notes = '';
    #outcome = 'lost'; // also of a run that is still performed when the program ends
    #text = '';
    ended: Promise<void> = Promise.resolve();

    constructor(
        readonly job: Job,
        private readonly session: Session,
        owner: string,
        readonly token: bigint,
        sent: number,
    ) {
        const { ttl, maxRun } = job.terms;
        setMaxListeners(0, this.signal);
        this.lease = new Lease(session, session.name, owner, token, ttl, sent, () =>
            this.#ending(),
        );
        const { signal } = this.lease;
        signal.addEventListener('abort', () => this.#stop.abort(signal.reason));
        this.#until = now() + maxRun;
        this.#watch();
    }

    check(): void {
        this.lease.check();
        if (now() < this.#until) return;
        this.#stop.abort(new OverrunError(this.job.name));
        throw this.signal.reason;
    }

    note(line: string): void {
        if (typeof line !== 'string') throw new TypeError('a note must be a string');
        this.#notes = `${this.#notes}${line}\n`.slice(-OUTPUT);
    }

    /** Calls the function, and records the result. Never rejects. */
    async perform(run: Run): Promise<void> {
        try {
            await this.job.work(run);
            this.#outcome = 'done';
        } catch (error) {
            const isLost =
                this.lease.signal.aborted ||
                (error instanceof LostError && error.lock === this.lease.name);
            this.#outcome = isLost ? 'lost' : 'failed';
            this.#text = textOf(error);
            this.session.warn(
                `the run has ${isLost ? 'ended' : 'failed'}: ${firstLine(this.#text)}`,
            );
        }
        clearTimeout(this.#timer);
        if (now() >= this.#until) {
            this.#outcome = 'timed out';
            this.#text ||= 'it exceeded maxRun';
        }
        await this.lease.release().catch((error: unknown) => {
            if (!(error instanceof LostError)) this.session.warn(String(error)); // a loss is reported
        });
    }

    /** Ends it as lost, so that another node may begin; its function learns of it first. */
    async revoke(): Promise<void> {
        await this.lease.revoke('the program ends').catch(() => {});
    }

    #ending(): Ending {
        const { aborted, reason } = this.lease.signal;
        const outcome = aborted ? 'lost' : this.#outcome;
        const why = this.#text || (aborted ? (reason as LostError).reason : '');
        const output = `${this.#notes}${why}`.trimEnd().replaceAll('\0', '?').slice(-OUTPUT);
        return ['finish', [this.token, outcome, output]];
    }

    #watch(): void {
        const left = this.#until - now();
        if (left <= 0) return this.#stop.abort(new OverrunError(this.job.name));
        // the lease keeps the process alive, as long as the run lasts
        this.#timer = setTimeout(() => this.#watch(), Math.min(LONGEST, left)).unref();
    }
}

/** A run of a job: what its function gets. */
export class Run {
    readonly #performance: Performance;
    /** The name of the job. */ readonly job: string;
    /** The token of its lease, job:NAME. */ readonly token: bigint;
    /** Aborts when the run is lost, before another can begin, or at maxRun: LostError, OverrunError. */
    readonly signal: AbortSignal;

    /** @internal */
    constructor(
        performance: Performance,
        /** When it was due, by the database's clock. */ readonly due: Date,
        /** 0, or the number of the retry. */ readonly retry: number,
    ) {
        this.#performance = performance;
        this.job = performance.job.name;
        this.token = performance.token;
        this.signal = performance.signal;
    }

    /** Milliseconds for which its lease is still certain; 0: it is lost or has ended. */
    remaining(): number {
        return this.#performance.lease.remaining();
    }

    /** LostError: another program may run the job now. OverrunError: after maxRun. Does not wait. */
    check(): void {
        this.#performance.check();
    }

    /** Keeps the run from being taken over until that connection's transaction ends; LostError. */
    async fence(connection: Connection): Promise<void> {
        this.check();
        await this.#performance.lease.fence(connection);
    }

    /** Adds a line to what `rowlock jobs NAME` shows; of all the last 2,048 bytes are kept. */
    note(line: string): void {
        this.#performance.note(line);
    }

    toJSON(): object {
        const { job, due, retry, token } = this;
        return { job, due, retry, token: String(token) };
    }
}

/**
 * The jobs of this process: of a farm of processes one performs each run that is due. `source` is a
 * pool, or a function that opens a connection: it is called for the loop, and for each run.
 */
export class Jobs {
    readonly #jobs = new Map<string, Job>();
    readonly #limit: number;
    #isServing = false;
    #wake = () => {};

    constructor(
        private readonly source: Source,
        private readonly options: JobsOptions = {},
    ) {
        checkSource(source);
        this.#limit = whole('limit', options.limit ?? 10, 1);
    }

    /**
     * Defines a job of 1 to 251 bytes. `work` may return a promise. What it throws is recorded: the
     * run has failed. TypeError, RangeError: a wrong argument.
     */
    job(name: string, options: JobOptions, work: (run: Run) => unknown): void {
        text('name', name, 251); // with job: before it, it is the name of a lease
        if (typeof work !== 'function') throw new TypeError('work must be a function');
        if (this.#jobs.has(name)) throw new RangeError(`the job '${name}' is defined already`);
        this.#jobs.set(name, new Job(name, jobTerms(options), work));
        this.#wake();
    }

    /**
     * Performs the jobs until the signal aborts. Then it claims no more, and waits for the runs, for
     * `grace` ms; 10,000. It ends the others as lost, for 5 s at most, and returns, although their
     * functions may still be running. An error of a job that the database has never accepted, such
     * as for a wrong schedule, rejects it. Other errors are warnings, and the call is repeated; so is
     * the first call of a job if the error may pass, such as of a server that only reads.
     */
    async run({ signal, grace = 10_000 }: { signal: AbortSignal; grace?: number }): Promise<void> {
        if (typeof signal?.addEventListener !== 'function') {
            throw new TypeError('signal must be an AbortSignal');
        }
        const limit = patience('grace', grace);
        await this.#alone(async (session) => {
            const wake = () => this.#wake();
            signal.addEventListener('abort', wake);
            try {
                await this.#serve(session, signal);
            } finally {
                signal.removeEventListener('abort', wake);
                await this.#stopRuns(limit);
            }
        });
    }

    /** Performs what is due now, waits for these runs, and returns how many they were. */
    async runDue(): Promise<number> {
        const begun: Promise<void>[] = [];
        await this.#alone(async (session) => {
            try {
                for (const job of this.#jobs.values()) {
                    while (this.#running().length >= this.#limit) {
                        await Promise.race(this.#running().map(({ ended }) => ended));
                    }
                    if (!job.performance && (await this.#ask(session, job))) {
                        begun.push(job.performance!.ended);
                    }
                }
            } finally {
                await Promise.all(begun);
            }
        });
        return begun.length;
    }

    /** Does the work with the session that claims: two loops would claim a run twice. */
    async #alone(work: (session: Session) => Promise<void>): Promise<void> {
        if (this.#isServing)
            throw new RowlockError('run() or runDue() of these jobs has not ended');
        this.#isServing = true;
        const session = this.#session('jobs');
        try {
            await work(session);
        } finally {
            await session.close();
            this.#isServing = false;
        }
    }

    #session(name: string): Session {
        const { logger, onEvent } = this.options;
        return new Session(this.source, typeof this.source !== 'function', name, logger, onEvent);
    }

    #running(): Performance[] {
        return [...this.#jobs.values()].flatMap(({ performance }) => performance ?? []);
    }

    async #serve(session: Session, signal: AbortSignal): Promise<void> {
        let failures = 0;
        while (!signal.aborted) {
            let pause: number;
            try {
                await this.#askAll(session, signal);
                failures = 0;
                pause = this.#pause();
            } catch (error) {
                if (!(error instanceof UnavailableError)) throw error;
                session.warn(`asking again for what is due: ${error.message}`);
                pause = pauseAfter(failures++);
            }
            if (!signal.aborted) await this.#rest(pause);
        }
    }

    async #askAll(session: Session, signal: AbortSignal): Promise<void> {
        const jobs = [...this.#jobs.values()].sort((one, other) => one.ask - other.ask);
        for (const job of jobs) {
            if (signal.aborted || this.#running().length >= this.#limit) return;
            if (!job.performance && job.ask <= now()) await this.#ask(session, job, signal);
        }
    }

    /** How long until a job has to be asked for; a run that ends wakes the loop. */
    #pause(): number {
        if (this.#running().length >= this.#limit) return AGAIN;
        const asks = [...this.#jobs.values()].map((job) => (job.performance ? Infinity : job.ask));
        return Math.max(0, Math.min(AGAIN, ...asks.map((ask) => ask - now())));
    }

    #rest(pause: number): Promise<void> {
        return new Promise((end) => {
            const timer = setTimeout(end, pause);
            this.#wake = () => {
                clearTimeout(timer);
                end();
            };
        });
    }

    /**
     * Claims a run of the job, if it is due, and begins it. Returns whether it did. With a signal it
     * is the loop that asks, and asks again.
     */
    async #ask(session: Session, job: Job, signal?: AbortSignal): Promise<boolean> {
        try {
            return await this.#claim(session, job, signal);
        } catch (error) {
            if (error instanceof UnavailableError) {
                job.ask = now(); // the others come first
                throw error;
            }
            if (!job.isAnswered && !(signal && passes(error))) {
                // it was wrong from the beginning
                (error as Error).message = `the job '${job.name}': ${(error as Error).message}`;
                throw error;
            }
            job.ask = now() + AGAIN;
            session.warn(`the job '${job.name}': ${String(error)}`);
            return false;
        }
    }

    async #claim(session: Session, job: Job, signal?: AbortSignal): Promise<boolean> {
        const { schedule, sent: terms, ttl, note } = job.terms;
        const owner = (job.owner ||= randomUUID().replaceAll('-', ''));
        const sent = now();
        const values = [job.name, schedule, owner, ...terms, ...caller(), note];
        const row = await session.call('claim', values, REPLY);
        const [token, due, retry, , pause] = row ?? [];
        job.owner = '';
        job.isAnswered = true;
        job.ask = now() + Number(pause ?? AGAIN);
        this.#report(session, job, row);
        if (!token) return false;
        const isLate = now() >= certainUntil(sent, ttl);
        if (isLate || signal?.aborted) {
            const why = isLate ? 'the answer came too late' : 'the program ends';
            const call = session.call('finish', [BigInt(token), 'not started', why], REPLY);
            await call.catch((error: unknown) => session.debug('finish', error)); // it expires
            return false;
        }
        const own = this.#session(`job:${job.name}`);
        own.tell({ type: 'acquired', token: BigInt(token), duration: now() - sent });
        const performance = new Performance(job, own, owner, BigInt(token), sent);
        this.#begin(performance, new Run(performance, new Date(Number(due)), Number(retry)));
        return true;
    }

    #report(session: Session, job: Job, row: Row): void {
        const [lost, former] = row?.slice(5) ?? [];
        if (Number(lost ?? 0)) {
            session.warn(`the job '${job.name}': the previous run, ${lost}, was lost`);
        }
        if (former && former !== job.former) {
            job.former = former;
            session.warn(`the job '${job.name}': another node has the schedule '${former}'`);
        }
    }

    #begin(performance: Performance, run: Run): void {
        const { job } = performance;
        job.performance = performance;
        performance.ended = performance.perform(run).then(() => {
            job.performance = undefined;
            job.ask = now(); // those that have waited for longer come first
            this.#wake();
        });
    }

    async #stopRuns(grace: number): Promise<void> {
        const ended = Promise.all(this.#running().map(({ ended }) => ended));
        await within(ended, grace).catch(() => {});
        const revoked = Promise.all(this.#running().map((performance) => performance.revoke()));
        await within(revoked, REPLY).catch(() => {});
    }
}

const firstLine = (text: string) => text.replace(/\n.*/s, '');

/**
 * The stacks of an error and of its causes, and the error as the last line, which a list of jobs
 * shows. No other properties, because in some of them drivers have passwords.
 */
function textOf(error: unknown): string {
    try {
        if (!(error instanceof Error)) return start(String(error), OUTPUT);
        return `${start(stacks(error, 4), OUTPUT * 0.75)}\n${start(String(error), OUTPUT / 4 - 1)}`;
    } catch {
        return 'an error without a text';
    }
}

/** The first bytes of a text. */
function start(text: string, bytes: number): string {
    const kept = Buffer.from(text.slice(0, bytes)).subarray(0, bytes);
    return new TextDecoder().decode(kept, { stream: true }); // omits half of a character
}

function stacks(error: unknown, depth: number): string {
    if (!(error instanceof Error)) return String(error);
    const all = (error as { errors?: unknown }).errors; // of an AggregateError
    const inner = [...(Array.isArray(all) ? all : []), error.cause ?? []].flat();
    const texts = depth > 0 ? inner.map((one) => `\ncaused by ${stacks(one, depth - 1)}`) : [];
    return String(error.stack ?? error) + texts.join('');
}
