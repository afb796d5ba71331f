// SPDX-License-Identifier: Apache-2.0
// Locks and leases on the database that the application already uses.
//
// lock() locks a name in the application's own transaction. withLease() and acquire() hold a lease
// on a connection of its own, renew it, and report its loss. nextNumber() draws from a counter
// without a gap. The database needs rowlock's schema: rowlock schema install.

export type { Connection, Pool, Source } from './engine';
export { BusyError, LostError, NotInstalledError, RowlockError, UnavailableError } from './errors';
export { acquire, Lease, type LeaseOptions, withLease } from './lease';
export type { Logger } from './session';
export { fence, lock, type LockOptions, nextNumber } from './transaction';
