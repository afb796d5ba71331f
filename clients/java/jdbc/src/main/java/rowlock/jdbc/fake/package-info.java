// SPDX-License-Identifier: Apache-2.0
/** A stand-in for tests that need no database: see {@link rowlock.jdbc.fake.FakeDatabase}. */
package rowlock.jdbc.fake;
