// SPDX-License-Identifier: Apache-2.0
// Applications of NestJS on a real server, as jobs.test.ts.

import 'reflect-metadata';
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, afterEach, beforeEach, test } from 'node:test';
import { Injectable, Scope } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { fake } from 'rowlock/fake';
import { RowlockJob, RowlockModule } from 'rowlock/nestjs';
import { command, pool, until } from './server';

const FAR = { every: '50w' }; // does not come due during a test; a new job is due at once

function history(): { outcome: string; output: string; repeat: number }[] {
    const [shown] = JSON.parse(command('--json', 'jobs', 'j')) as [
        { history: { outcome: string; output: string; repeat: number }[] },
    ];
    return shown.history;
}

const applications: ChildProcess[] = [];
/** An application that has started: its process, and what it has printed. */
async function application(what: string, ttl: number) {
    const words = [join(__dirname, 'nest_node.js'), what, String(ttl)];
    const started = spawn(process.execPath, words, { stdio: ['pipe', 'pipe', 'inherit'] });
    applications.push(started);
    const lines: string[] = [];
    createInterface(started.stdout!).on('line', (line) => lines.push(line));
    await until(() => lines.includes('started'));
    return { process: started, lines };
}

/** Until it has asked for its job, which another application runs. */
const asked = () => {
    const [shown] = JSON.parse(command('--json', 'jobs', 'j')) as [{ name: string }];
    return shown.name === 'j';
};

beforeEach(() => {
    const shown = JSON.parse(command('--json', 'jobs')) as { name: string }[];
    for (const { name } of shown) command('jobs', name, '--forget');
});
afterEach(() => {
    for (const one of applications.splice(0)) one.kill('SIGKILL');
});
after(() => pool.end());

test('one of two applications performs a job, and another one that of one that is killed', async () => {
    const first = await application('waits', 2000);
    await until(() => first.lines.includes('began'));
    const second = await application('ends', 2000);
    assert.ok(asked());
    assert(!second.lines.includes('began'));
    first.process.kill('SIGKILL');
    await until(() => history()[0]?.outcome === 'done');
    const [done, lost] = history();
    assert.deepEqual([done?.output, done?.repeat, lost?.outcome], ['37 mails', 1, 'lost']);
    await until(() => second.lines.includes('began'));
});

test('a signal waits for the run, and then ends the application', async () => {
    const app = await application('waits', 30_000);
    await until(() => app.lines.includes('began'));
    const ended = once(app.process, 'exit');
    app.process.kill('SIGTERM');
    await until(() => app.lines.includes('stops'));
    app.process.stdin!.write('\n');
    assert.deepEqual(await ended, [null, 'SIGTERM']); // NestJS repeats the signal
    const [run] = history();
    assert.deepEqual([run?.outcome, run?.output], ['done', '37 mails']);
    assert.equal(app.lines.at(-1), 'ends');
});

class Sender {
    runs = 0;
    send(): void {
        this.runs++;
    }
}
function sender(scope: Scope, name = 'j', options: object = FAR) {
    class Decorated extends Sender {}
    Injectable({ scope })(Decorated);
    const { send } = Sender.prototype;
    const own = function (this: Sender) {
        send.call(this);
    };
    Object.defineProperty(Decorated.prototype, 'send', { value: own, configurable: true });
    const property = Object.getOwnPropertyDescriptor(Decorated.prototype, 'send')!;
    RowlockJob(name, options as typeof FAR)(Decorated.prototype, 'send', property);
    return Decorated;
}
function starts(...providers: (typeof Sender)[]) {
    const imports = [RowlockModule.forRoot({ source: fake(), grace: 1000 })];
    const module = { module: class {}, imports, providers };
    const options = { logger: false, abortOnError: false } as const;
    return NestFactory.createApplicationContext(module, options);
}

test('it works without a database, by the fake', async () => {
    const provider = sender(Scope.DEFAULT);
    const app = await starts(provider);
    await until(() => app.get(provider).runs === 1);
    await app.close();
});

test('what cannot be a job is an error of the start', async () => {
    const both = [sender(Scope.DEFAULT), sender(Scope.DEFAULT)];
    await assert.rejects(starts(...both), /'j' is defined already/);
    await assert.rejects(starts(sender(Scope.REQUEST)), /'j' must be a singleton/);
    await assert.rejects(starts(sender(Scope.DEFAULT, 'j', {})), /every: '5m'/);
});
