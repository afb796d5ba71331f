// SPDX-License-Identifier: Apache-2.0
/**
 * Locks and leases on the database that the application already uses, see {@link
 * rowlock.jdbc.Rowlock}, and jobs, see {@link rowlock.jdbc.Jobs}. The database needs rowlock's
 * schema: {@link rowlock.jdbc.Rowlock#install(javax.sql.DataSource)}.
 */
package rowlock.jdbc;
