// SPDX-License-Identifier: Apache-2.0
// The server and the driver of a test: ROWLOCK_TEST_URL and ROWLOCK_TEST_DRIVER.

import { execFileSync } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import * as mariadb from 'mariadb';
import * as mysql2 from 'mysql2';
import * as mysql2promise from 'mysql2/promise';
import * as pg from 'pg';
import type { Connection, Pool } from 'rowlock';

export const url = new URL(process.env['ROWLOCK_TEST_URL']!);
export const isPostgresql = url.protocol === 'postgresql:';
export const isMysql = url.protocol === 'mysql:';
export const server = {
    host: url.hostname,
    port: Number(url.port),
    user: decodeURIComponent(url.username),
    password: decodeURIComponent(url.password),
    database: url.pathname.slice(1),
};

export interface Driver {
    pool: Pool & { end(): unknown };
    connect(): Promise<Connection>;
    end(connection: Connection): unknown;
}

export const drivers: Record<string, (at: typeof server) => Driver> = {
    pg: (at) => ({
        pool: new pg.Pool({ ...at, max: 5 }),
        connect: async () => {
            const client = new pg.Client(url.href);
            await client.connect();
            return client;
        },
        end: (client) => (client as pg.Client).end(),
    }),
    mysql2: (at) => ({
        pool: mysql2.createPool(at),
        connect: async () => mysql2.createConnection(server),
        end: (connection) => (connection as mysql2.Connection).end(),
    }),
    'mysql2/promise': (at) => ({
        pool: mysql2promise.createPool(at),
        connect: () => mysql2promise.createConnection(server),
        end: (connection) => (connection as mysql2promise.Connection).end(),
    }),
    mariadb: (at) => ({
        pool: mariadb.createPool({
            ...at,
            ...(at === server
                ? { connectionLimit: 5 }
                : { connectionLimit: 1, acquireTimeout: 1000 }),
        }),
        connect: () => mariadb.createConnection(server),
        end: (connection) => (connection as mariadb.Connection).end(),
    }),
};
export const driver = drivers[process.env['ROWLOCK_TEST_DRIVER']!]!;
export const { pool, connect, end } = driver(server);

export function command(...words: string[]): string {
    const all = ['--db', url.href, ...words];
    return execFileSync(process.env['ROWLOCK']!, all, { encoding: 'utf8' });
}

export async function until(condition: () => boolean): Promise<void> {
    while (!condition()) await sleep(20);
}

export const opened: Connection[] = [];
export async function open(): Promise<Connection> {
    const connection = await connect();
    opened.push(connection);
    if (!isPostgresql) {
        await execute(connection, 'SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED');
    }
    return connection;
}

/** The first value of the first row, whatever the driver's form of a result. */
export async function execute(connection: Connection, statement: string): Promise<unknown> {
    const plain = connection as { promise?(): Connection };
    const driven = (plain.promise?.() ?? connection) as { query(text: string): Promise<unknown> };
    let result = await driven.query(statement);
    if (isPostgresql) result = (result as { rows: unknown[] }).rows;
    while (Array.isArray(result)) result = result[0];
    return Object.values((result as object | undefined) ?? {})[0];
}

export type Reply = () => Promise<unknown>;
/** A connection whose calls go through `pass`. */
export function through(
    connection: Connection,
    pass: (text: string, reply: Reply) => Promise<unknown>,
): Connection {
    const driven = ((connection as { promise?(): object }).promise?.() ?? connection) as {
        query(request: { text?: string; sql?: string }): Promise<unknown>;
    };
    return new Proxy(driven, {
        get(target, key) {
            if (key === 'promise') return undefined;
            if (key === 'query') {
                return (request: { text?: string; sql?: string }) =>
                    pass(request.text ?? request.sql ?? '', () => target.query(request));
            }
            const value: unknown = Reflect.get(target, key);
            return typeof value === 'function' ? (value.bind(target) as unknown) : value;
        },
    });
}

export async function endOpened(): Promise<void> {
    for (const connection of opened.splice(0)) await end(connection);
}
