// SPDX-License-Identifier: Apache-2.0
// An application for nestjs.test.ts, which kills it, or ends it by SIGTERM. Its arguments are what
// its job does, which prints "began": "ends"; "waits", until a line of the test; and the ttl.

import 'reflect-metadata';
import { once } from 'node:events';
import {
    Injectable,
    Module,
    type OnApplicationShutdown,
    type OnModuleDestroy,
} from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { Run } from 'rowlock';
import { RowlockJob, RowlockModule } from 'rowlock/nestjs';
import { pool } from './server';

const [what, ttl] = [process.argv[2], Number(process.argv[3])];

@Injectable()
class Mail implements OnModuleDestroy, OnApplicationShutdown {
    readonly #sent = '37 mails'; // a job that is called without its provider fails

    @RowlockJob('j', { every: '50w', ttl })
    async send(run: Run): Promise<void> {
        console.log('began');
        if (what === 'waits') await once(process.stdin, 'data');
        run.note(this.#sent);
    }

    onModuleDestroy(): void {
        console.log('stops');
    }

    async onApplicationShutdown(): Promise<void> {
        console.log('ends');
        await pool.end();
    }
}

@Module({
    imports: [RowlockModule.forRootAsync({ useFactory: async () => ({ source: pool }) })],
    providers: [Mail, { provide: 'alias', useExisting: Mail }, { provide: 'x', useValue: 'x' }],
})
class App {}

async function main(): Promise<void> {
    const app = await NestFactory.createApplicationContext(App, { logger: ['warn', 'error'] });
    app.enableShutdownHooks();
    console.log('started');
}
void main();
