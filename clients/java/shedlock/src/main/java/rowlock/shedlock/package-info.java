// SPDX-License-Identifier: Apache-2.0
/** A lock provider for ShedLock: {@link rowlock.shedlock.RowlockLockProvider}. */
package rowlock.shedlock;
