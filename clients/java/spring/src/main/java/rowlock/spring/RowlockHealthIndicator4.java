// SPDX-License-Identifier: Apache-2.0
package rowlock.spring;

import org.springframework.boot.health.contributor.AbstractHealthIndicator;
import org.springframework.boot.health.contributor.Health;

/** For Spring Boot 4. */
final class RowlockHealthIndicator4 extends AbstractHealthIndicator {
  private final RowlockHealth health;

  RowlockHealthIndicator4(RowlockHealth health) {
    super(RowlockHealth.MESSAGE);
    this.health = health;
  }

  @Override
  protected void doHealthCheck(Health.Builder builder) {
    health.report(builder::up, builder::down);
  }
}
