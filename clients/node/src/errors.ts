// SPDX-License-Identifier: Apache-2.0
// The errors, and the meaning of a driver's error.

/** The base of all errors here. `code` also tells them apart. */
export class RowlockError extends Error {
    readonly code: string = 'ROWLOCK_ERROR';

    constructor(message: string, cause?: unknown) {
        super(message, cause === undefined ? undefined : { cause });
        this.name = new.target.name;
    }
}

/** Who holds the lock. A field that is not known is undefined; as a text, what is known. */
export class Holder {
    constructor(
        /** 'lease' or 'transaction' */ readonly kind?: string,
        readonly host?: string,
        /** Of a lease: the process on host; of a transaction: the server's session. */
        readonly pid?: number,
        readonly program?: string,
        /** A time in UTC, by the database's clock: 2026-01-31T02:00:00.000Z */
        readonly since?: string,
        readonly note?: string,
        /** How many others wait for the lock. */ readonly waiting?: number,
        private readonly text?: string,
    ) {}

    toString(): string {
        if (!this.kind) return this.text ?? 'another session';
        const server = this.kind === 'lease' ? '' : 'server session ';
        const program = this.program ? ` (${this.program})` : '';
        const process = `${server}pid ${this.pid ?? '?'} on ${this.host ?? '?'}${program}`;
        const note = this.note ? `, note: ${this.note}` : '';
        const waiting = this.waiting ? `, ${this.waiting} waiting` : '';
        return `a ${this.kind}, ${process}, since ${this.since ?? '?'}${note}${waiting}`;
    }
}

/** The lock is held or waited for. `holder` has by whom, since when, and the note. */
export class BusyError extends RowlockError {
    override readonly code = 'ROWLOCK_BUSY';

    constructor(
        readonly lock: string,
        readonly holder: Holder,
        cause?: unknown,
    ) {
        super(`could not acquire '${lock}': held by ${String(holder)}`, cause);
    }
}

/**
 * The lease has expired, or was broken: stop the work that it protects. `reason` says how. Or the
 * transaction that began a refresh ended before the refresh was complete.
 */
export class LostError extends RowlockError {
    override readonly code = 'ROWLOCK_LOST';

    constructor(
        message: string,
        readonly lock: string,
        readonly reason: string,
        cause?: unknown,
    ) {
        super(message, cause);
    }
}

export function leaseLost(name: string, reason: string, cause?: unknown): LostError {
    const text = `the lease of '${name}' is lost: stop the work done under it`;
    return new LostError(reason ? `${text} (${reason})` : text, name, reason, cause);
}

export function refreshLost(subject: string, cause: unknown): LostError {
    const advice = 'roll back, and refresh again with a load that leaves it open';
    const reason = 'load ended its transaction';
    const text = `the refresh of '${subject}' is lost: ${reason}; ${advice}`;
    return new LostError(text, `subject:${subject}`, reason, cause);
}

/** A run of a job has exceeded its maxRun. */
export class OverrunError extends RowlockError {
    override readonly code = 'ROWLOCK_OVERRUN';

    constructor(readonly job: string) {
        super(`the run of '${job}' has exceeded its maxRun`);
    }
}

/** The database does not answer, or the pool has no connection. */
export class UnavailableError extends RowlockError {
    override readonly code = 'ROWLOCK_UNAVAILABLE';
}

/** The database has no rowlock schema, or one without these functions. */
export class NotInstalledError extends RowlockError {
    override readonly code = 'ROWLOCK_NOT_INSTALLED';
}

export const noTransaction = (cause?: unknown) =>
    new RowlockError('no transaction is open: send BEGIN first', cause);

type Meaning = 'busy' | 'lost' | 'missing' | 'gone' | 'refused';
/** As clients/errors.txt. No code of one engine is another's. */
const CODES: Record<Meaning, string> = {
    lost: 'RL005 30005',
    busy: '55P03 1205',
    missing: '42883 3F000 42P01 42703 1305 1146 1054 1356',
    gone: `08* 57P01 57P02 57P03 57P05 25P03 25P04 53200 53300
        1040 1041 1053 1077 1079 1152 1158 1159 1160 1161 1203 1206 1226 1927 2002 2003
        2005 2006 2012 2013 2055 3169 4031 5013 5014`,
    refused: `RL* 22* 28* 3D000 42501 30001 30002 30003 30004 30006 30007 30008 30009
        1044 1045 1049 1129 1130 1142 1227 1251 1264 1366 1370 1406 1698 1820 1862 2026 2059
        3118 4151`,
};
/** @internal */
export const MEANINGS = new Map<string, Meaning>();
for (const [meaning, codes] of Object.entries(CODES)) {
    for (const code of codes.split(/\s+/)) MEANINGS.set(code, meaning as Meaning);
}
// of Node; of mysql2; of mariadb, whose numbers begin with 45: a closed connection or socket, a
// time limit, and no free connection in the pool
const DRIVERS_GONE = new RegExp(
    '^(E(CONN(REFUSED|RESET|ABORTED)|PIPE|TIMEDOUT|NOTFOUND|AI_AGAIN|NOTCONN|NOENT|ADDRNOTAVAIL' +
        '|(HOST|NET)(UNREACH|DOWN))|PROTOCOL_(CONNECTION_LOST|SEQUENCE_TIMEOUT)' +
        '|450(01|04|09|12|13|19|26|28|39|42|61))$',
);
// of errors without a code: of pg, pg-pool and mysql2
const TEXTS_GONE =
    /^(Connection terminated|timeout (expired|exceeded)|Query read timeout|Client (has encount|was cl)|Can't (add new command|write) .*closed state|No connections available)/;

interface Reported {
    code?: unknown; // of pg: the SQLSTATE, beside a severity
    severity?: unknown;
    errno?: unknown; // of mysql2 and mariadb: the number
    sqlState?: unknown;
    message?: unknown;
    cause?: unknown;
}

export function codeOf(error: unknown): string {
    const { severity, code, errno, sqlState } = (error ?? {}) as Reported;
    if (severity !== undefined) return String(code);
    if (typeof errno === 'number' && errno > 0) return String(errno);
    return String(code ?? sqlState ?? '');
}

/** What an error means: by its codes first, then by its driver's kind; undefined: not known. */
export function judged(error: unknown): Meaning | undefined {
    const { message, sqlState, cause } = (error ?? {}) as Reported;
    const code = codeOf(error);
    const state = /^RL/.test(String(sqlState)) ? String(sqlState) : code; // also MariaDB's
    const ofClass = state.length === 5 ? MEANINGS.get(`${state.slice(0, 2)}*`) : undefined;
    const known = MEANINGS.get(code) ?? MEANINGS.get(state) ?? ofClass;
    if (known) return known;
    // the pool of mariadb says only at its time limit why it could not connect
    if (code === '45028' && cause && judged(cause) !== 'gone') return 'refused';
    if (DRIVERS_GONE.test(code)) return 'gone';
    return !code && TEXTS_GONE.test(String(message)) ? 'gone' : undefined;
}

/** Whether the same call may succeed later: a lock timed out, or the server's error is not judged. */
export function passes(error: unknown): boolean {
    const { severity, sqlState, errno } = (error ?? {}) as Reported;
    // the numbers of the driver mariadb begin with 45
    const isServers = severity !== undefined || (Boolean(sqlState) && Number(errno) < 45_000);
    return error instanceof BusyError || (isServers && !judged(error));
}

/** The error of this package that a driver's error means; else the driver's own. */
export function translated(error: unknown, name: string): unknown {
    if (error instanceof RowlockError) return error;
    const text = String((error as Reported | undefined)?.message || error);
    if (['25P01', '30006'].includes(codeOf(error))) return noTransaction(error);
    switch (judged(error)) {
        case 'lost': {
            // in mariadb's text the number is before it, and the statement after it
            const reason = text
                .replace(/^(.*?rowlock: )?/, '')
                .replace(/: stop the work.*|\n.*/s, '');
            return leaseLost(name, reason, error);
        }
        case 'busy': {
            const by = /held by ([^\n]*)/.exec(text)?.[1];
            return new BusyError(name, heldBy(by), error);
        }
        case 'missing': {
            const advice =
                'no schema of rowlock here; run: npx rowlock install, or rowlock schema install';
            return new NotInstalledError(`${advice} (${text})`, error);
        }
        case 'gone':
            return new UnavailableError(text, error);
        default:
            return error;
    }
}

/** A holder of which only a text is known. */
export function heldBy(text: string | null | undefined): Holder {
    const none = undefined;
    return new Holder(none, none, none, none, none, none, none, text ?? none);
}
