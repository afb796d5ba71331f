// SPDX-License-Identifier: Apache-2.0
// The measured client in JavaScript; bench/parts/run describes its commands and its output.

import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import mysql from 'mysql2/promise';
import pg from 'pg';
import { withLease } from 'rowlock';

const [url, command, ...rest] = process.argv.slice(2);
const pool = url.startsWith('postgresql:') // both have ten sessions
    ? new pg.Pool({ connectionString: url, max: 10 })
    : mysql.createPool({ uri: url.replace(/^mariadb:/, 'mysql:'), connectionLimit: 10 });
const REQUEST = `SELECT token, ticket, place, holder FROM rowlock.request($1::text,
    $2::bigint * interval '1 ms', $3::text, $4::bigint * interval '1 ms', $5::text,
    $6::integer, $7::text, $8::bigint, $9::text, $10::text)`;

const ours = (name) => withLease(pool, name, {}, () => {});

async function byHand(name) {
    const owner = randomUUID().replaceAll('-', '');
    const caller = [null, hostname(), process.pid, 'client.mjs', null];
    const values = [name, 30000, owner, 5000, 'exclusive', ...caller];
    const { token } = (await pool.query(REQUEST, values)).rows[0];
    const { rows } = await pool.query('SELECT rowlock.release($1::bigint)', [token]);
    if (!rows[0].release) throw new Error('not released');
}

async function rate(way) {
    const began = performance.now();
    let count = 0;
    for (; performance.now() < began + 100; count++) await way(`bench:${count % 100}`);
    return (count * 1000) / (performance.now() - began);
}

async function pairs(rounds) {
    const ways = [ours, byHand];
    for (let i = -5; i < rounds; i++) { // the first ones warm up
        const rates = [];
        for (const which of i % 2 ? [0, 1] : [1, 0]) rates[which] = await rate(ways[which]);
        if (i >= 0) console.log(rates[0] / rates[1], ...rates);
    }
}

async function handover(count) {
    for (let i = 0; i < count; i++) {
        const times = [process.hrtime.bigint()];
        await withLease(pool, 'bench:handover', {}, async () => {
            times.push(process.hrtime.bigint());
            await sleep(50);
            times.push(process.hrtime.bigint());
        });
        console.log(times.join(' '));
    }
}

async function others(waiters, ms) {
    const name = `bench:others ${process.pid}`;
    const work = async () => {
        for (;;) await withLease(pool, name, {}, () => sleep(20));
    };
    for (let i = 0; i < waiters; i++) work();
    for (const end = performance.now() + Number(ms); performance.now() < end; await sleep(10)) {
        const asked = process.hrtime.bigint();
        await pool.query('SELECT 1');
        console.log(String(process.hrtime.bigint() - asked));
    }
    process.exit();
}

const pooled = handover;
await { pairs, handover, pooled, others, wait: () => ours('bench:idle') }[command](...rest);
await pool.end();
