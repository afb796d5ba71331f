// SPDX-License-Identifier: Apache-2.0
// Locks and leases on the database that the application already uses: npx rowlock install URL.

export { acquire, type LeaseOptions, withLease } from './acquire';
export type { Connection, Pool, Source } from './engine';
export { BusyError, LostError, NotInstalledError, OverrunError } from './errors';
export { RowlockError, UnavailableError } from './errors';
export type { Holder } from './errors';
export { type Dialect, install, schema } from './install';
export { type JobOptions, Jobs, type JobsOptions, type Run } from './jobs';
export { Lease, releaseAll } from './lease';
export type { LeaseEvent, Logger } from './session';
export { fence, lock, type LockOptions, nextNumber, refresh } from './transaction';
/// <reference lib="esnext.disposable" preserve="true" />
