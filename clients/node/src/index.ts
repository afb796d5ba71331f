// SPDX-License-Identifier: Apache-2.0
// Locks and leases on the database that the application already uses: rowlock schema install.

export type { Connection, Pool, Source } from './engine';
export { BusyError, LostError, NotInstalledError, RowlockError, UnavailableError } from './errors';
export { acquire, Lease, type LeaseOptions, withLease } from './lease';
export type { Logger } from './session';
export { fence, lock, type LockOptions, nextNumber, refresh } from './transaction';
