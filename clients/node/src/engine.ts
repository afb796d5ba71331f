// SPDX-License-Identifier: Apache-2.0
// What differs between the engines and the drivers: the statements, and how they are sent.

import type { EventEmitter } from 'node:events';
import { RowlockError } from './errors';

/** A session of pg, mysql2 or mariadb. */
export interface Connection {
    query(...values: never[]): unknown;
}

/** A pool of pg, mysql2 or mariadb. */
export type Pool =
    | { connect(): Promise<Connection> }
    | { getConnection(): Promise<Connection> }
    | { promise(): { getConnection(): Promise<Connection> } };

/** A pool, or a function that opens a connection for this lease alone. */
export type Source = Pool | (() => Connection | Promise<Connection>);

export type Values = readonly (string | number | null)[];
/** The first row of a result, as the texts that the server has sent. */
export type Row = readonly (string | null)[] | undefined;

const POSTGRESQL = {
    request: `SELECT token, ticket, place, holder FROM rowlock.request($1::text,
        $2::bigint * interval '1 ms', $3::text, $4::bigint * interval '1 ms', $5::text,
        $6::integer, $7::text, $8::bigint, $9::text, $10::text)`,
    renew: "SELECT rowlock.renew($1::bigint, $2::bigint * interval '1 ms')",
    cancel: 'SELECT rowlock.cancel($1::text, $2::text)',
    release: 'SELECT rowlock.release($1::bigint)',
    fence: 'SELECT rowlock.fence($1::text, $2::bigint)',
    next: 'SELECT rowlock.next($1::text)',
    refresh: `SELECT rowlock.refresh($1::text, $2::bigint * interval '1 ms',
        $3::bigint * interval '1 ms', $4::text, $5::bigint, $6::text)`,
    refreshed: 'SELECT rowlock.refreshed($1::text, $2::bigint)',
};
export type Call = keyof typeof POSTGRESQL;
const MARIADB: typeof POSTGRESQL = {
    request: 'CALL rowlock_request_row(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
    renew: 'CALL rowlock_renew(?, ?)',
    cancel: 'CALL rowlock_cancel(?, ?, @rowlock_answer)',
    release: 'CALL rowlock_release(?, @rowlock_answer)',
    fence: 'CALL rowlock_fence(?, ?)',
    next: 'CALL rowlock_next(?, @rowlock_answer)',
    refresh: 'CALL rowlock_refresh(?, ?, ?, ?, ?, ?, @rowlock_answer)',
    refreshed: 'CALL rowlock_refreshed(?, ?)',
};

/** The parts of the drivers' objects that are used here; which of them exist shows the driver. */
interface Driven {
    query(request: object, values?: Values): Promise<unknown>;
    on?(event: 'error', listener: (error: unknown) => void): unknown;
    removeListener?(event: 'error', listener: (error: unknown) => void): unknown;
    connect?(): Promise<Driven>;
    getConnection?(): Promise<Driven>;
    promise?(): Driven;
    connection?: EventEmitter; // of pg: its wire
    escapeIdentifier?: unknown; // of a session of pg
    escapeId?: unknown; // of mysql2 and mariadb
    release?(broken?: boolean): unknown;
    destroy?(): void;
    end?(): unknown;
}

/** A connection, and how its driver is called. */
export class Link {
    readonly isPostgresql: boolean;
    isOpen: boolean | undefined; // whether a transaction is, if the driver says so
    readonly #driven: Driven;
    #isolation = ''; // of a connection of MariaDB, as the pool gave it
    #failed: (error: unknown) => void = () => {};

    constructor(connection: unknown) {
        const driven = connection as Driven;
        this.isPostgresql = typeof driven?.escapeIdentifier === 'function';
        const isMariadb = typeof driven?.escapeId === 'function' && !driven.getConnection;
        if (!this.isPostgresql && !isMariadb) {
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

    /** Reads what close() is to restore, before the first call on a session of a pool. */
    async remember(): Promise<void> {
        if (this.isPostgresql || !this.#driven.release || this.#isolation) return;
        const variables = "('transaction_isolation', 'tx_isolation')"; // by the version
        const row = await this.row(`SHOW VARIABLES WHERE variable_name IN ${variables}`);
        this.#isolation = (row?.[1] ?? '').replace('-', ' ');
    }

    /** Sends a statement, and returns its first row. */
    async row(statement: string, values: Values = []): Promise<Row> {
        if (this.isPostgresql) {
            const types = { getTypeParser: () => (text: string) => text };
            const request = { text: statement, values, rowMode: 'array', types };
            const ready = ({ status }: { status: string }) => (this.isOpen = status !== 'I');
            const wire = this.#driven.connection?.on('readyForQuery', ready);
            try {
                return ((await this.#driven.query(request)) as { rows: Row[] }).rows[0];
            } finally {
                wire?.removeListener('readyForQuery', ready);
            }
        }
        const typeCast = (field: { string(): string | null }): string | null => field.string();
        const request = { sql: statement, rowsAsArray: true, namedPlaceholders: false, typeCast };
        let result: unknown = await this.#driven.query(request, values);
        // a CALL wraps its rows in one more array, and so does mysql2 each result
        while (Array.isArray(result) && Array.isArray(result[0])) result = result[0];
        return Array.isArray(result) && result.length > 0 ? (result as string[]) : undefined;
    }

    /** Calls a function by its name above. */
    async call(which: Call, values: Values): Promise<Row> {
        if (this.isPostgresql) return this.row(POSTGRESQL[which], values);
        const row = await this.row(MARIADB[which], values);
        return MARIADB[which].includes('@') ? this.row('SELECT @rowlock_answer') : row;
    }

    /** Returns the session to its pool; ends it if it is broken, or has no pool. */
    async close(broken: boolean): Promise<void> {
        if (broken && !this.isPostgresql) return this.#driven.destroy?.(); // the listener stays
        if (this.#isolation) {
            await this.row(`SET SESSION TRANSACTION ISOLATION LEVEL ${this.#isolation}`);
        }
        if (!broken) this.#driven.removeListener?.('error', this.#failed);
        await (this.#driven.release ? this.#driven.release(broken) : this.#driven.end?.());
    }
}
