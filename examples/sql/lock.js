// SPDX-License-Identifier: Apache-2.0
// node lock.js URL: a lock in a transaction, from Node by pg.
const { Client } = require('pg');

async function main() {
    // with a pool: one client for the whole transaction
    const client = new Client({ connectionString: process.argv[2] });
    await client.connect();
    try {
        await client.query('BEGIN');
        await client.query('SELECT rowlock.exclusive($1)', ['BondBO:DK0015966592']);
        console.log('locked');
        await client.query('UPDATE bond SET handled = handled + 1 WHERE id = $1', ['DK0015966592']);
        await client.query('COMMIT');
    } finally {
        await client.end(); // rolls back a transaction that is still open
    }
}

main().catch((error) => {
    console.error(error.message);
    process.exitCode = 1;
});
