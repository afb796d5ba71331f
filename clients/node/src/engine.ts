// SPDX-License-Identifier: Apache-2.0
// What differs between the engines and the drivers: the statements, and how they are sent.

import type { EventEmitter } from 'node:events';
import { RowlockError } from './errors';

/** A session of pg, mysql2 or mariadb; or of the fake. */
export interface Connection {
    query(...values: never[]): unknown;
}

/** A pool of pg, mysql2 or mariadb; or the fake. */
export type Pool =
    | { connect(): Promise<Connection> }
    | { getConnection(): Promise<Connection> }
    | { promise(): { getConnection(): Promise<Connection> } };

/** A pool, or a function that opens a connection for this lease alone. */
export type Source = Pool | (() => Connection | Promise<Connection>);

export type Values = readonly (string | number | bigint | null)[];
/** The first row of a result, as the texts that the server has sent. */
export type Row = readonly (string | null)[] | undefined;

const MS = "?::bigint * interval '1 ms'";
const POSTGRESQL = {
    request: `SELECT token, ticket, place, holder, (extract(epoch FROM pause) * 1000)::bigint
        FROM rowlock.request(?::text, ${MS}, ?::text, ${MS}, ?::text, ?::integer, ?::text,
        ?::bigint, ?::text, ?::text)`,
    renew: `SELECT rowlock.renew(?::bigint, ${MS})`,
    cancel: 'SELECT rowlock.cancel(?::text, ?::text)',
    // it would wait for a transaction that has fenced, which may be the caller's own
    release: "SET LOCAL lock_timeout = '1s'; SELECT rowlock.release(?::bigint)::integer",
    claim: `SELECT token, (extract(epoch FROM due) * 1000)::bigint, repeats, state,
        (extract(epoch FROM pause) * 1000)::bigint, lost, former_schedule
        FROM rowlock.claim(?::text, ?::text, ?::text, ${MS}, ?::text, ?::integer, ${MS}, ?::text,
        ${MS}, ?::integer, ?::text, ?::bigint, ?::text, ?::text)`,
    finish: `SET LOCAL lock_timeout = '1s';
        SELECT rowlock.finish(?::bigint, ?::text, ?::text)::integer`,
    fence: 'SELECT rowlock.fence(?::text, ?::bigint)',
    // refused outside a transaction, where the number would be drawn, and lost
    next: 'SAVEPOINT rowlock; SELECT rowlock.next(?::text); RELEASE SAVEPOINT rowlock',
    refresh: `SELECT rowlock.refresh(?::text, ${MS}, ${MS}, ?::text, ?::bigint, ?::text)`,
    refreshed: 'SELECT rowlock.refreshed(?::text, ?::bigint)',
    holder: `SELECT kind, pid, host, program, since, expires, note, waiting
        FROM rowlock.holders(?::text) LIMIT 1`,
    exclusive: 'SELECT rowlock.exclusive(?::text)',
    shared: 'SELECT rowlock.shared(?::text)',
    tryExclusive: `SELECT rowlock.try_exclusive(?::text, ${MS})::integer`,
    tryShared: `SELECT rowlock.try_shared(?::text, ${MS})::integer`,
    server: 'SELECT pg_catalog.version()',
    version: 'SELECT version FROM rowlock.meta',
    install: '', // its values are statements
};
const MARIADB = {
    request: 'CALL rowlock_request_row(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
    renew: 'CALL rowlock_renew(?, ?)',
    cancel: 'CALL rowlock_cancel(?, ?, @rowlock_answer)',
    release: 'CALL rowlock_release(?, @rowlock_answer)',
    claim: 'CALL rowlock_claim_row(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
    finish: 'CALL rowlock_finish(?, ?, ?, NULL, @rowlock_answer)',
    fence: 'CALL rowlock_fence(?, ?)',
    next: 'CALL rowlock_next(?, @rowlock_answer)',
    refresh: 'CALL rowlock_refresh(?, ?, ?, ?, ?, ?, @rowlock_answer)',
    refreshed: 'CALL rowlock_refreshed(?, ?)',
    holder: 'CALL rowlock_holder(?)',
    exclusive: 'CALL rowlock_exclusive(?)',
    shared: 'CALL rowlock_shared(?)',
    beginExclusive: 'CALL rowlock_begin_exclusive(?)',
    beginShared: 'CALL rowlock_begin_shared(?)',
    server: 'SELECT VERSION()',
    version: "SELECT version FROM rowlock_meta WHERE technique <> 'plain'",
    isolation: "SHOW VARIABLES LIKE 't%isolation'", // MySQL has another name
};
export type Call = keyof typeof POSTGRESQL | keyof typeof MARIADB;

/** The fake's connections have this method: it answers a call without any SQL. */
export const ANSWER = Symbol('rowlock');

/**
 * A statement with its values. A text is sent as hexadecimal digits: so it is data, and the same
 * one, in every sql_mode, character set, and setting of a driver.
 */
function filled(statement: string, values: Values, isPostgresql: boolean): string {
    let at = 0;
    return statement.replace(/\?/g, () => {
        const value = values[at++];
        if (value === null || value === undefined) return 'NULL';
        if (typeof value !== 'string') return String(value);
        const digits = Buffer.from(value, 'utf8').toString('hex');
        return isPostgresql
            ? `pg_catalog.convert_from(pg_catalog.decode('${digits}', 'hex'), 'UTF8')`
            : `CONVERT(X'${digits}' USING utf8mb4)`;
    });
}

/** Of MariaDB: a CALL has a list of results, which may be empty, and mysql2 adds a list of fields. */
function firstRow(result: unknown): Row {
    if (!Array.isArray(result)) return undefined;
    if (result[0] === null || typeof result[0] === 'string') return result as string[];
    for (const part of result) {
        const row = firstRow(part);
        if (row) return row;
    }
    return undefined;
}

/** The parts of the drivers' objects that are used here; which of them exist shows the driver. */
interface Driven {
    query(request: object): Promise<unknown>;
    on?(event: 'error', listener: (error: unknown) => void): unknown;
    removeListener?(event: 'error', listener: (error: unknown) => void): unknown;
    connect?(): Promise<Driven>;
    getConnection?(): Promise<Driven>;
    promise?(): Driven;
    connection?: EventEmitter & { release?: unknown }; // of pg its wire, of mysql2 its core
    escapeIdentifier?: unknown; // of a session of pg
    escapeId?: unknown; // of mysql2 and mariadb
    processID?: number | null; // the server's session, as pg knows it
    threadId?: number | bigint | null; // the same of mysql2 and mariadb
    release?(broken?: boolean): unknown;
    destroy?(): void;
    end?(): unknown;
    [ANSWER]?(which: Call, values: Values): Promise<Row>;
}

/** Whether it is a pool. The sessions of pg and mysql2 have connect(), too. */
export function isPool(source: unknown): boolean {
    const { getConnection, connect, escapeIdentifier, escapeId } = (source ?? {}) as Driven;
    if (typeof getConnection === 'function') return true;
    return typeof connect === 'function' && !escapeIdentifier && !escapeId;
}

/** A connection, and how its driver is called. */
export class Link {
    readonly isPostgresql: boolean;
    readonly isMariadb: boolean;
    isOpen: boolean | undefined; // whether a transaction is, if the driver says so
    isDirect = false; // whether it is a session of the server, and not a pooler's
    readonly #driven: Driven;
    #failed: (error: unknown) => void = () => {};
    #isUnfit = false; // for others: a setting could not be restored

    constructor(connection: unknown) {
        const driven = connection as Driven;
        this.isPostgresql = typeof driven?.escapeIdentifier === 'function';
        this.isMariadb = typeof driven?.escapeId === 'function' && !driven.getConnection;
        if (!this.isPostgresql && !this.isMariadb && !driven?.[ANSWER]) {
            const advice = 'on another database use the command rowlock';
            throw new RowlockError(`not one connection of pg, mysql2 or mariadb; ${advice}`);
        }
        this.#driven = driven.promise?.() ?? driven;
    }

    /** Opens a session, or borrows one from a pool. `failed` is called when it ends by itself. */
    static async open(source: Source, failed: (error: unknown) => void): Promise<Link> {
        const pool = ((source as Driven).promise?.() ?? source) as Required<Driven>;
        const method = typeof pool.getConnection === 'function' ? 'getConnection' : 'connect';
        const opened = await (typeof source === 'function' ? source() : pool[method]());
        try {
            const link = new Link(opened);
            link.#failed = failed;
            link.#driven.on?.('error', failed);
            return link;
        } catch (error) {
            (opened as Driven | undefined)?.release?.(); // a pool of another driver
            throw error;
        }
    }

    /** Finds whether a new session is a pooler's: then the server knows it by another number. */
    async introduce(): Promise<void> {
        const { processID, threadId } = this.#driven;
        if (this.isMariadb) {
            const id = (await this.#row('SELECT CONNECTION_ID()'))?.[0];
            this.isDirect = threadId != null && id === String(threadId);
        } else if (this.isPostgresql && processID != null) {
            const named = `CASE WHEN pg_catalog.pg_backend_pid() = ${Number(processID)}
                AND pg_catalog.current_setting('application_name') = ''
                THEN pg_catalog.set_config('application_name', 'rowlock/node', false) END`;
            const row = await this.#row(`SELECT pg_catalog.pg_backend_pid(), ${named}`);
            this.isDirect = row?.[0] === String(processID);
        }
    }

    /** Sends a statement without values, and returns its first row. */
    async #row(statement: string): Promise<Row> {
        if (this.isPostgresql) {
            const types = { getTypeParser: () => (text: string) => text };
            const request = { text: statement, rowMode: 'array', types };
            const ready = ({ status }: { status: string }) => (this.isOpen = status !== 'I');
            const wire = this.#driven.connection?.on('readyForQuery', ready);
            try {
                const results = [await this.#driven.query(request)].flat() as { rows?: Row[] }[];
                return results.flatMap(({ rows }) => rows ?? [])[0];
            } finally {
                wire?.removeListener('readyForQuery', ready);
            }
        }
        const typeCast = (field: { string(): string | null }): string | null => field.string();
        const shape = { rowsAsArray: true, nestTables: false, metaAsArray: false };
        const request = { sql: statement, namedPlaceholders: false, typeCast, ...shape };
        return firstRow(await this.#driven.query(request));
    }

    /** Calls a function by its name above, in the transaction that is open. */
    async call(which: Call, values: Values): Promise<Row> {
        if (this.#driven[ANSWER]) return this.#driven[ANSWER](which, values);
        return this.#send(which, values);
    }

    async #send(which: Call, values: Values): Promise<Row> {
        const statements: Partial<Record<Call, string>> = this.isPostgresql ? POSTGRESQL : MARIADB;
        const statement = filled(statements[which]!, values, this.isPostgresql);
        const row = await this.#row(statement);
        return statement.includes('@rowlock_answer') ? this.#row('SELECT @rowlock_answer') : row;
    }

    /** Calls it in a transaction of its own: MariaDB's procedures begin it themselves. */
    async alone(which: Call, values: Values): Promise<Row> {
        if (which === 'install') return this.#script(values as string[]);
        if (this.isMariadb && (which === 'release' || which === 'finish')) {
            return this.limited(1, () => this.call(which, values)); // as POSTGRESQL's
        }
        if (!this.isPostgresql) return this.call(which, values);
        const statement = filled(POSTGRESQL[which as keyof typeof POSTGRESQL], values, true);
        const begin = 'BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE'; // whatever the defaults are
        try {
            return await this.#row(`${begin}; ${statement}; COMMIT`);
        } catch (error) {
            await this.#row('ROLLBACK').catch(() => {}); // the first error is the reason
            throw error;
        }
    }

    async #script(statements: string[]): Promise<Row> {
        let last: Row;
        for (const statement of statements) last = await this.#row(statement);
        return last;
    }

    /** MariaDB: does the work with a limit of seconds for each wait; MySQL has no SET STATEMENT. */
    async limited<T>(seconds: number, work: () => Promise<T>): Promise<T> {
        const limit = `SESSION innodb_lock_wait_timeout = ${Math.min(seconds, 1e9)}`;
        await this.#row(`SET @rowlock_wait = @@innodb_lock_wait_timeout, ${limit}`);
        try {
            return await work();
        } finally {
            const restore = 'SET SESSION innodb_lock_wait_timeout = @rowlock_wait';
            await this.#row(restore).catch(() => (this.#isUnfit = true));
        }
    }

    /** Returns the session to its pool; ends it if it is broken, or has no pool. */
    async close(isBroken: boolean): Promise<void> {
        const broken = isBroken || this.#isUnfit;
        if (broken && !this.isPostgresql) return this.#driven.destroy?.(); // the listener stays
        if (!broken) this.#driven.removeListener?.('error', this.#failed);
        const { release, connection } = this.#driven;
        // mysql2 gives release() to a session without a pool, too, but not to its core
        const isPooled = release && (this.isPostgresql || !connection || connection.release);
        await (isPooled ? this.#driven.release!(broken) : this.#driven.end?.());
    }
}
