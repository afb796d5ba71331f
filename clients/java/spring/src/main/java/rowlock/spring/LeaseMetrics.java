// SPDX-License-Identifier: Apache-2.0
package rowlock.spring;

import io.micrometer.core.instrument.MeterRegistry;
import java.util.Locale;
import org.springframework.context.event.EventListener;
import rowlock.jdbc.LeaseEvent;

/**
 * Timers of the events of leases: rowlock.lease.acquired and waited since the request, released and
 * lost since the lease was acquired; each by its name.
 */
final class LeaseMetrics {
  private final MeterRegistry registry;

  LeaseMetrics(MeterRegistry registry) {
    this.registry = registry;
  }

  @EventListener
  void on(LeaseEvent event) {
    String kind = event.kind().name().toLowerCase(Locale.ROOT);
    registry.timer("rowlock.lease." + kind, "name", event.name()).record(event.duration());
  }
}
