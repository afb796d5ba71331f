// SPDX-License-Identifier: Apache-2.0
/** Jobs and locks of a Spring Boot application: see {@link rowlock.spring.RowlockJob}. */
package rowlock.spring;
