// SPDX-License-Identifier: Apache-2.0
// Jobs of a NestJS application: methods of its providers, performed while the application runs.

import {
    type BeforeApplicationShutdown,
    type DynamicModule,
    type FactoryProvider,
    Logger,
    Module,
    type ModuleMetadata,
    type OnApplicationBootstrap,
    SetMetadata,
} from '@nestjs/common';
import { DiscoveryModule, DiscoveryService, MetadataScanner, Reflector } from '@nestjs/core';
import { type JobOptions, Jobs, type JobsOptions, type Run, type Source } from './index';

const JOB = 'rowlock:job'; // of a method: its name and options
const OPTIONS = Symbol('rowlock');

export interface RowlockModuleOptions extends JobsOptions {
    /** A pool, or a function that opens a connection, for the loop and for each run. */
    source: Source;
    /** For how long the shutdown waits for runs, in ms; 10,000. Then another node may begin. */
    grace?: number;
}

/** For options that other providers have, such as ConfigService. */
export interface RowlockModuleAsyncOptions
    extends Pick<ModuleMetadata, 'imports'>,
        Pick<FactoryProvider, 'inject'> {
    useFactory: FactoryProvider<RowlockModuleOptions>['useFactory'];
}

/**
 * Makes a method of a provider or controller, `(run: Run) => unknown`, a job of this name. The class
 * must be a singleton, which is the default. The arguments are those of `Jobs.job`.
 */
export function RowlockJob(name: string, options: JobOptions): MethodDecorator {
    return SetMetadata(JOB, { name, options });
}

/** Defines the jobs when the application starts, and performs them until it shuts down. */
class Runner implements OnApplicationBootstrap, BeforeApplicationShutdown {
    readonly #stop = new AbortController();
    #ended: Promise<void> = Promise.resolve();

    constructor(
        private readonly options: RowlockModuleOptions,
        private readonly discovery: DiscoveryService,
        private readonly scanner: MetadataScanner,
    ) {}

    onApplicationBootstrap(): void {
        const { source, grace, ...options } = this.options;
        const nest = new Logger('rowlock');
        const logger = { warn: (message: string) => nest.warn(message), debug: () => {} };
        const jobs = new Jobs(source, { logger, ...options });
        this.#define(jobs);
        // not caught: an application whose jobs cannot be performed must not seem to perform them
        const { signal } = this.#stop;
        this.#ended = jobs.run(grace === undefined ? { signal } : { signal, grace });
    }

    async beforeApplicationShutdown(): Promise<void> {
        this.#stop.abort();
        await this.#ended;
    }

    #define(jobs: Jobs): void {
        const seen = new Set<object>(); // an alias is another wrapper of the same instance
        const { discovery } = this;
        for (const wrapper of [...discovery.getProviders(), ...discovery.getControllers()]) {
            const instance: unknown = wrapper.instance;
            if (typeof instance !== 'object' || instance === null || seen.has(instance)) continue;
            seen.add(instance);
            this.#defineOf(instance, wrapper.isDependencyTreeStatic(), jobs);
        }
    }

    #defineOf(instance: object, isSingleton: boolean, jobs: Jobs): void {
        const methods = instance as Record<string, (run: Run) => unknown>;
        for (const method of this.scanner.getAllMethodNames(Object.getPrototypeOf(instance))) {
            const job = new Reflector().get<{ name: string; options: JobOptions } | undefined>(
                JOB,
                methods[method]!,
            );
            if (!job) continue;
            if (!isSingleton) {
                throw new TypeError(`the class of the job '${job.name}' must be a singleton`);
            }
            jobs.job(job.name, job.options, (run) => methods[method]!(run));
        }
    }
}

/**
 * The jobs of an application: import it once, in the root module. The jobs begin when the
 * application has started. The shutdown, by `app.close()` or by a signal after
 * `app.enableShutdownHooks()`, claims no more runs and waits for the active ones, for `grace`; close
 * the pool in onApplicationShutdown, which is later. A wrong argument of a job is an error of the
 * start. A job that the database refuses at its first claim, such as for a wrong schedule, is an
 * unhandled rejection, which ends the process.
 */
export class RowlockModule {
    static forRoot(options: RowlockModuleOptions): DynamicModule {
        return RowlockModule.forRootAsync({ useFactory: () => options });
    }

    static forRootAsync(options: RowlockModuleAsyncOptions): DynamicModule {
        const { imports = [], inject = [], useFactory } = options;
        return {
            module: RowlockModule,
            imports: [DiscoveryModule, ...imports],
            providers: [
                { provide: OPTIONS, inject, useFactory },
                {
                    provide: Runner,
                    inject: [OPTIONS, DiscoveryService, MetadataScanner],
                    useFactory: (
                        all: RowlockModuleOptions,
                        discovery: DiscoveryService,
                        scanner: MetadataScanner,
                    ) => new Runner(all, discovery, scanner),
                },
            ],
        };
    }
}
Module({})(RowlockModule);
