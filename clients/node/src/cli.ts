#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// npx rowlock install URL, or --print DIALECT.

import { createRequire } from 'node:module';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { Connection } from './engine';
import { DIALECTS, type Dialect, install, schema } from './install';

const USAGE = `usage: npx rowlock install [URL]
       npx rowlock install --print ${DIALECTS.join('|')} [--role ACCOUNT]

Creates rowlock's tables and functions, if they are missing. The URL is postgresql://, mariadb:// or
mysql://; default: $ROWLOCK_URL. Its driver is the project's: pg, mysql2 or mariadb.
--print: prints the statements instead, with the GRANTs for another account.`;

type Opens = (...values: string[]) => Promise<Connection>;
const find = createRequire(join(process.cwd(), 'package.json')); // the project's drivers

function driverOf(names: string[]): [string, { createConnection: Opens; Client: never }] {
    for (const name of names) {
        try {
            return [name, find(name)];
        } catch (error) {
            if ((error as NodeJS.ErrnoException).code !== 'MODULE_NOT_FOUND') throw error;
        }
    }
    throw new Error(`no driver is installed: npm install ${names[0]?.split('/')[0]}`);
}

async function connect(url: string): Promise<Connection> {
    const scheme = /^(postgres(?:ql)?|mariadb|mysql):/.exec(url)?.[1];
    if (!scheme) throw new Error('no URL of PostgreSQL or MariaDB'); // the rest may be secret
    if (scheme.startsWith('postgres')) {
        const Client: new (url: string) => Connection & { connect(): Promise<void> } = driverOf([
            'pg',
        ])[1].Client;
        const client = new Client(url);
        await client.connect();
        return client;
    }
    const [name, driver] = driverOf(['mysql2/promise', 'mariadb']);
    const own = name === 'mariadb' ? 'mariadb:' : 'mysql:'; // each knows its own scheme only
    return driver.createConnection(url.replace(/^\w+:/, own));
}

async function run(words: string[]): Promise<number> {
    const options = {
        print: { type: 'string' },
        role: { type: 'string' },
        help: { type: 'boolean' },
    } as const;
    const { values, positionals } = parseArgs({ args: words, options, allowPositionals: true });
    const [verb, url = process.env['ROWLOCK_URL'], ...others] = positionals;
    if (values.help) {
        console.log(USAGE);
        return 0;
    }
    const isPrint = values.print !== undefined;
    if (verb !== 'install' || others.length || !(isPrint || url) || (values.role && !isPrint)) {
        console.error(USAGE);
        return 2;
    }
    if (isPrint) {
        process.stdout.write(schema(values.print as Dialect, values.role));
    } else {
        const isNew = await install(() => connect(url!));
        console.log(isNew ? 'rowlock is installed' : 'rowlock is installed already');
    }
    return 0;
}

process.stdout.on('error', () => process.exit(1)); // such as of | head
run(process.argv.slice(2)).then(
    (status) => (process.exitCode = status),
    (error: unknown) => {
        console.error(`rowlock: ${(error as Error).message}`);
        process.exitCode = 1;
    },
);
