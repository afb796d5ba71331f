// SPDX-License-Identifier: Apache-2.0
// node mariadb_lock.js URL: a lock in a transaction, from Node by mysql.
const connection = require('mysql').createConnection(process.argv[2]); // mysql://user@host/database
const { promisify } = require('util');
const query = promisify(connection.query).bind(connection);

async function main() {
    await query('CALL rowlock_begin_exclusive(?)', ['BondBO:DK0015966592']);
    console.log('locked');
    await query('UPDATE bond SET handled = handled + 1 WHERE id = ?', ['DK0015966592']);
    await query('COMMIT');
}

main()
    .catch((error) => {
        console.error(error.message);
        process.exitCode = 1;
    })
    .finally(() => connection.destroy()); // rolls back a transaction that is still open
