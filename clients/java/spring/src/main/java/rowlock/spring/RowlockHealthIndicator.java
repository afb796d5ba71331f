// SPDX-License-Identifier: Apache-2.0
package rowlock.spring;

import org.springframework.boot.actuate.health.AbstractHealthIndicator;
import org.springframework.boot.actuate.health.Health;

/** For Spring Boot 3. */
final class RowlockHealthIndicator extends AbstractHealthIndicator {
  private final RowlockHealth health;

  RowlockHealthIndicator(RowlockHealth health) {
    super(RowlockHealth.MESSAGE);
    this.health = health;
  }

  @Override
  protected void doHealthCheck(Health.Builder builder) {
    health.report(builder::up, builder::down);
  }
}
