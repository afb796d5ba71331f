// SPDX-License-Identifier: Apache-2.0
package rowlock.spring;

import java.time.Duration;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * The properties of the application.
 *
 * @param limit How many runs this instance performs at once.
 * @param grace How long a shutdown waits for runs; at most 5 s less than
 *     spring.lifecycle.timeout-per-shutdown-phase. Then they end as lost.
 * @param install Whether the start installs rowlock's schema, unless it is there.
 * @param autoStartup Whether the jobs start with the application.
 */
@ConfigurationProperties("rowlock")
public record RowlockProperties(
    @DefaultValue("10") int limit,
    @DefaultValue("10s") Duration grace,
    @DefaultValue("never") Install install,
    @DefaultValue("true") boolean autoStartup) {

  /** When the start installs rowlock's schema. */
  public enum Install {
    /** Somebody else installs it. */
    NEVER,
    /** The start installs it, unless it is there, or of a version that is an error. */
    ALWAYS
  }
}
