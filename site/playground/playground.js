// SPDX-License-Identifier: Apache-2.0
// Three programs that want one lease, on PostgreSQL in the page. Every step is a statement that a
// program would send; each is shown. Answers of the database are only set as text.
import { PGlite } from './pglite/index.js';

const NAME = 'backup', TTL = 10_000, RENEW = TTL / 3;
const play = document.getElementById('play');
const element = (tag, text = '', properties = {}) =>
    Object.assign(document.createElement(tag), { textContent: text }, properties);
const seconds = (since) => Math.round((performance.now() - since) / 100) / 10;

let db, log, turn = Promise.resolve();

// One session: a call, or a transaction, after the other.
function alone(work) {
    const mine = turn.then(work);
    turn = mine.catch(() => {});
    return mine;
}
function note(who, text, refused = false) {
    const line = element('div', `${who}  ${text}`);
    line.classList.toggle('refused', refused);
    log.prepend(line);
    while (log.childElementCount > 80) log.lastElementChild.remove();
}
async function send(who, sql, values = [], quiet = false) {
    const shown = sql.replace(/\s+/g, ' ').replace(/\$(\d)/g, (_, n) => values[n - 1] === null ? 'NULL'
        : typeof values[n - 1] === 'number' ? values[n - 1] : `'${values[n - 1]}'`);
    try {
        const { rows } = await db.query(sql, values);
        if (!quiet) note(who, `${shown}\n    → ${rows.length ? JSON.stringify(rows[0]) : 'ok'}`);
        return rows[0];
    } catch (error) {
        note(who, `${shown}\n    → refused (${error.code}): ${error.message}`, true);
        throw error;
    }
}

class Program {
    constructor(letter) {
        this.letter = letter;
        this.card = element('section', '', { className: 'client' });
        this.text = element('p', '', { className: 'state' });
        this.buttons = {};
        this.card.append(element('h3', `Program ${letter}`), this.text);
        for (const [word, label] of [['acquire', 'Acquire'], ['write', 'Write'],
            ['careless', 'Write without a fence'], ['release', 'Release'], ['freeze', 'Freeze'],
            ['kill', 'Kill'], ['restart', 'Start again']]) {
            const button = element('button', label, { type: 'button' });
            button.dataset.do = word;
            button.addEventListener('click', () => this[word]().catch(() => {}));
            this.buttons[word] = button;
            this.card.append(button);
        }
        this.become('idle', 'wants nothing');
    }
    become(state, text) {
        this.state = state;
        this.card.dataset.state = state;
        this.card.toggleAttribute('data-frozen', Boolean(this.frozen));
        this.text.textContent = (this.frozen ? 'FROZEN: sends nothing. Before that: ' : '') + text;
        this.said = text;
        const can = {
            acquire: state === 'idle' || state === 'lost', write: state === 'holds',
            careless: state === 'holds', release: state === 'holds' || state === 'waits',
            freeze: state === 'holds' || state === 'waits', kill: state !== 'dead',
            restart: state === 'dead',
        };
        for (const [word, button] of Object.entries(this.buttons)) {
            button.disabled = !can[word] || (Boolean(this.frozen) && word !== 'freeze' && word !== 'kill');
        }
        this.buttons.freeze.textContent = this.frozen ? 'Thaw' : 'Freeze';
    }
    later(ms) {
        clearTimeout(this.timer);
        this.timer = setTimeout(() => this.tick(), ms);
    }
    tick() {
        if (this.frozen || this.state === 'dead') return;
        if (this.state === 'waits') this.request().catch(() => {});
        if (this.state === 'holds') this.renew().catch(() => {});
    }
    async acquire() {
        this.owner = crypto.randomUUID(); // drawn once for each lease: a repeated call gets the same
        await this.request();
    }
    async request() {
        const life = this.owner;
        const row = await alone(() => this.alive(life) && send(this.letter,
            `SELECT token, place, holder, extract(epoch FROM pause) * 1000 AS pause
               FROM rowlock.request($1, '10 s', $2, wait => '0 s', program => $3)`,
            [NAME, life, `program ${this.letter}`], this.state === 'waits'));
        if (!row || !this.alive(life)) return;
        if (row.token !== null) {
            this.token = row.token;
            if (this.state === 'waits') note(this.letter, `rowlock.request → token ${row.token}`);
            this.become('holds', `holds the lease, token ${row.token}`);
            this.later(RENEW);
        } else {
            this.become('waits', `waits at place ${row.place ?? '?'}, behind ${row.holder}`);
            this.later(Math.max(200, Number(row.pause) || 0));
        }
    }
    alive(life) { return !this.frozen && this.state !== 'dead' && this.owner === life; }
    async renew() {
        try {
            await alone(() => send(this.letter, `SELECT rowlock.renew($1, '10 s')`, [this.token], true));
            this.later(RENEW);
        } catch {
            this.become('lost', 'has lost the lease, and stops its work');
        }
    }
    async write() { await this.transaction(true); }
    async careless() { await this.transaction(false); }
    async transaction(fenced) {
        try {
            await alone(async () => {
                await send(this.letter, 'BEGIN');
                try {
                    if (fenced) await send(this.letter, 'SELECT rowlock.fence($1, $2)', [NAME, this.token]);
                    await send(this.letter,
                        'UPDATE account SET writes = writes + 1, last = $1 RETURNING writes, last',
                        [`${this.letter}, token ${this.token}`]);
                    await send(this.letter, 'COMMIT');
                } catch (error) {
                    await send(this.letter, 'ROLLBACK');
                    throw error;
                }
            });
        } catch {
            this.become('lost', 'its late write was refused: the lease is lost');
        }
        await look();
    }
    async release() {
        const { owner } = this;
        this.owner = null;
        clearTimeout(this.timer);
        await alone(() => send(this.letter, 'SELECT rowlock.cancel($1, $2)', [NAME, owner]));
        this.become('idle', 'has ended its request');
        await look();
    }
    async freeze() {
        this.frozen = !this.frozen;
        if (this.frozen) clearTimeout(this.timer);
        else note(this.letter, '(thawed; it still believes what it knew, and renews in two seconds)');
        this.become(this.state, this.said);
        if (!this.frozen) this.later(2000);
    }
    async kill() {
        clearTimeout(this.timer);
        this.owner = null;
        this.frozen = false;
        note(this.letter, '(killed: it sends nothing any more)');
        this.become('dead', 'is dead; its lease ends by itself');
    }
    async restart() { this.become('idle', 'has started again, and knows nothing'); }
}

let tables;
function table(heading, columns, rows) {
    const made = element('table');
    made.append(element('caption', heading));
    const head = element('tr');
    head.append(...columns.map((name) => element('th', name)));
    made.append(head);
    for (const row of rows) {
        const line = element('tr');
        line.append(...columns.map((name) => element('td', String(row[name] ?? ''))));
        made.append(line);
    }
    if (!rows.length) made.append(element('tr', 'none'));
    return made;
}
async function look() {
    const [held, waiting, account] = await alone(async () => [
        await db.query(`SELECT token, program, round(extract(epoch FROM
            expires - clock_timestamp()))::int AS "ends in s" FROM rowlock.holders ORDER BY token`),
        await db.query('SELECT place, program FROM rowlock.waiters ORDER BY place'),
        await db.query('SELECT writes, last FROM account'),
    ]);
    tables.replaceChildren(
        table('rowlock.holders', ['token', 'program', 'ends in s'], held.rows),
        table('rowlock.waiters', ['place', 'program'], waiting.rows),
        table('account: what the programs write', ['writes', 'last'], account.rows));
}

async function begin() {
    const began = performance.now();
    db = await PGlite.create();
    const schema = await fetch(new URL('schema.sql', import.meta.url));
    if (!schema.ok) throw new Error(`schema.sql: ${schema.status}`);
    await db.exec(await schema.text());
    await db.exec('CREATE TABLE account (writes int, last text); INSERT INTO account VALUES (0)');
    const programs = ['A', 'B', 'C'].map((letter) => new Program(letter));
    const clients = element('div', '', { className: 'clients' });
    clients.append(...programs.map((program) => program.card));
    tables = element('div', '', { className: 'panel' });
    log = element('div', '', { className: 'sql', tabIndex: 0 });
    log.setAttribute('aria-label', 'the SQL that was sent, newest first');
    const sent = element('div', '', { className: 'panel' });
    sent.append(element('h3', 'SQL, newest first'), log);
    const below = element('div', '', { className: 'below' });
    below.append(tables, sent);
    play.replaceChildren(clients, below);
    play.removeAttribute('aria-live');
    play.dataset.ready = 'yes';
    note('-', `(PostgreSQL started and the schema of rowlock installed in ${seconds(began)} s)`);
    await look();
    setInterval(() => look().catch(() => {}), 500);
}
begin().catch((error) => {
    play.replaceChildren(element('p', `The playground did not start: ${error.message}`));
    play.dataset.ready = 'no';
});
