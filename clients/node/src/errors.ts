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

/** The lock is held or waited for. `holder` describes by whom, since when, and the note. */
export class BusyError extends RowlockError {
    override readonly code = 'ROWLOCK_BUSY';
    readonly lock: string;
    readonly holder: string | undefined;

    constructor(lock: string, holder: string | null | undefined, cause?: unknown) {
        super(`could not acquire '${lock}': held by ${holder ?? 'another session'}`, cause);
        this.lock = lock;
        this.holder = holder ?? undefined;
    }
}

/**
 * The lease has expired, or was broken: stop the work that it protects. Or the transaction that
 * began a refresh ended before the refresh was complete.
 */
export class LostError extends RowlockError {
    override readonly code = 'ROWLOCK_LOST';
}

export function leaseLost(name: string, cause?: unknown): LostError {
    return new LostError(`the lease of '${name}' is lost: stop the work done under it`, cause);
}

export function refreshLost(subject: string, cause: unknown): LostError {
    const advice = 'roll back, and refresh again with a load that leaves it open';
    const what = `the refresh of '${subject}' is lost: load ended its transaction`;
    return new LostError(`${what}; ${advice}`, cause);
}

/** The database does not answer. */
export class UnavailableError extends RowlockError {
    override readonly code = 'ROWLOCK_UNAVAILABLE';
}

/** The database has no rowlock schema, or one without these functions. */
export class NotInstalledError extends RowlockError {
    override readonly code = 'ROWLOCK_NOT_INSTALLED';
}

/** pg reports the SQLSTATE in `code`, beside a `severity`; mysql2 and mariadb in `sqlState`. */
type Reported = Record<string, unknown>;
const MISSING = ['42883', '3F000', '42P01']; // PostgreSQL: function, schema, table
const NO_SESSION = /^(08...|57P0[1-3]|25P0[34]|53300|1040|1053|1927|45028)$/; // 45028: of a pool

export function sqlstate(error: unknown): string {
    const { severity, code, sqlState } = (error ?? {}) as Reported;
    const state = severity === undefined ? sqlState : code;
    return typeof state === 'string' ? state : '';
}

/** Whether the session has ended, or never began: the call may have been executed. */
export function isConnection(error: unknown): boolean {
    const { errno, fatal, message, code } = (error ?? {}) as Reported;
    const state = sqlstate(error);
    if (NO_SESSION.test(state) || NO_SESSION.test(String(errno))) return true;
    if ((state && state !== 'HY000') || error instanceof TypeError) return false;
    const ofDriver = fatal === true || /^(E[A-Z]{3,}|PROTOCOL_[A-Z_]+)$/.test(String(code));
    return ofDriver || (!state && /connect|closed|socket|timeout/i.test(String(message)));
}

/** The error of this package that a driver's error means; else the driver's own. */
export function translated(error: unknown, name: string): unknown {
    if (error instanceof RowlockError) return error;
    const state = sqlstate(error);
    const { errno, message } = (error ?? {}) as Reported;
    if (state === 'RL005') return leaseLost(name, error);
    if (state === '55P03' || errno === 1205) {
        return new BusyError(name, /held by ([^\n]*)/.exec(String(message))?.[1], error);
    }
    if (MISSING.includes(state) || errno === 1305) {
        const advice = 'no schema of rowlock here; run: rowlock schema install';
        return new NotInstalledError(`${advice} (${String(message)})`, error);
    }
    return isConnection(error) ? new UnavailableError(String(message || error), error) : error;
}
