// SPDX-License-Identifier: Apache-2.0
// Installs rowlock's schema: by the text of `rowlock schema print`, which the package contains.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { checkSource } from './arguments';
import type { Call, Row, Source } from './engine';
import { judged, NotInstalledError, RowlockError } from './errors';
import { REPLY, Session } from './session';

/** The servers whose schema the package contains. */
export const DIALECTS = ['postgresql', 'mariadb', 'mysql'] as const;
export type Dialect = (typeof DIALECTS)[number];

const LIMIT = 300_000; // for the text, which first waits for another installer
const GRANTS = /^-- GRANTs[^]*^-- end of GRANTs\n/m;
const VERSION = /^-- rowlock's schema, version (\d+)/m;

/**
 * The text by which install() installs: for an administrator, or a tool such as Flyway. `role`:
 * another account, which gets the GRANTs to use rowlock; on MariaDB and MySQL also USER@HOST.
 */
export function schema(dialect: Dialect, role?: string): string {
    if (!DIALECTS.includes(dialect)) {
        throw new RangeError(`the dialect must be one of ${DIALECTS.join(', ')}, not ${dialect}`);
    }
    const text = packed(dialect);
    if (role === undefined) return text.replace(GRANTS, '');
    const account = quoted(dialect, role);
    return text.replace(/\bapplication\b/g, () => account);
}

function packed(name: string): string {
    try {
        return readFileSync(join(__dirname, '..', 'schema', `${name}.sql`), 'utf8');
    } catch (error) {
        const build = "run make client-schemas in rowlock's source and build it again";
        const advice = `${build}; or run: rowlock schema install`;
        throw new RowlockError(`this package was built without the schema: ${advice}`, error);
    }
}

function quoted(dialect: Dialect, role: string): string {
    const [user, host] = role.split(/@(.*)/s) as [string, string?];
    const isHost = host === undefined || (dialect !== 'postgresql' && /^[\w.%:-]+$/.test(host));
    if (!/^[a-z_]\w{0,62}$/i.test(user) || !isHost) {
        throw new RangeError(`'${role}' is not a plain name of an account: edit the GRANTs`);
    }
    return host === undefined ? user : `'${user}'@'${host}'`;
}

/**
 * Elsewhere than on PostgreSQL, by the rules of the client mariadb and src/driver: a statement ends
 * with the delimiter, at the end of a line; a line DELIMITER x changes it; a line that begins with
 * -- is a comment.
 */
export function statements(dialect: Dialect, text: string): string[] {
    if (dialect === 'postgresql') return [text];
    const found: string[] = [];
    let lines: string[] = [];
    let delimiter = ';';
    for (const line of text.split('\n')) {
        if (line.startsWith('DELIMITER ')) {
            delimiter = line.slice('DELIMITER '.length);
        } else if (line.endsWith(delimiter) && !line.startsWith('--')) {
            found.push([...lines, line.slice(0, -delimiter.length)].join('\n'));
            lines = [];
        } else if ((line || lines.length) && !line.startsWith('--')) {
            lines.push(line);
        }
    }
    return found;
}

function dialectOf(server: string): Dialect {
    if (!server.startsWith('PostgreSQL')) return server.includes('MariaDB') ? 'mariadb' : 'mysql';
    if (!server.includes('-YB-')) return 'postgresql';
    throw new RowlockError('on YugabyteDB run: rowlock schema install');
}

/** One call, on a session of its own. */
async function ask(source: Source, which: Call, values: string[], limit: number): Promise<Row> {
    const pooled = typeof source !== 'function';
    const session = new Session(source, pooled, 'the schema', undefined, undefined);
    try {
        return await session.call(which, values, limit);
    } finally {
        await session.close();
    }
}

async function isCurrent(source: Source, wanted: number): Promise<boolean> {
    let found: number;
    try {
        found = Number((await ask(source, 'version', [], REPLY))?.[0] ?? 0);
    } catch (error) {
        if (error instanceof NotInstalledError) return false;
        throw error;
    }
    if (found === 0) return false; // an install was interrupted
    // each version of the schema serves the packages of the version before, and the reverse
    const [oldest, newest] = [Math.max(wanted - 1, 1), wanted + 1];
    if (oldest <= found && found <= newest) return true;
    const advice = found < wanted ? 'run: rowlock schema upgrade' : 'use a newer package';
    const range = `this package works with ${oldest} to ${newest}`;
    throw new RowlockError(`the schema is version ${found}, ${range}; ${advice}`);
}

async function bring(source: Source, dialect: Dialect): Promise<boolean> {
    const text = schema(dialect);
    const wanted = Number(VERSION.exec(text)?.[1]);
    if (await isCurrent(source, wanted)) return false;
    try {
        await ask(source, 'install', statements(dialect, text), LIMIT);
        return true;
    } catch (error) {
        if (await isCurrent(source, wanted)) return false; // another program was first
        throw error;
    }
}

/**
 * Creates rowlock's tables and functions; false: they exist already. The account of `source`
 * becomes their owner, and needs no GRANTs. Any number of programs may install at the same time:
 * it waits for the others, 5 minutes at most. A schema of the version before this package's, or of
 * the next one, stays as it is. RowlockError: it is of any other version, or the account may not
 * create it.
 */
export async function install(source: Source): Promise<boolean> {
    checkSource(source);
    const server = (await ask(source, 'server', [], REPLY))?.[0] ?? '';
    if (server === 'rowlock/fake') return false;
    const dialect = dialectOf(server);
    try {
        return await bring(source, dialect);
    } catch (error) {
        if (judged(error) !== 'refused') throw error;
        const needs = (await ask(source, 'install', [packed(`${dialect}-needs`)], REPLY))?.[0];
        const print = `npx rowlock install --print ${dialect} --role ACCOUNT`;
        const text = `could not install rowlock's schema: ${(error as Error).message}`;
        throw new RowlockError(`${text}; ${needs}; or run what this prints: ${print}`, error);
    }
}
