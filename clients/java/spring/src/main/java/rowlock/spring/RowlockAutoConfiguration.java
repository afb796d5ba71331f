// SPDX-License-Identifier: Apache-2.0
package rowlock.spring;

import io.micrometer.core.instrument.MeterRegistry;
import java.time.Duration;
import javax.sql.DataSource;
import net.javacrumbs.shedlock.core.LockProvider;
import org.springframework.beans.factory.InitializingBean;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.boot.actuate.autoconfigure.health.ConditionalOnEnabledHealthIndicator;
import org.springframework.boot.actuate.health.HealthIndicator;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.boot.autoconfigure.condition.ConditionalOnSingleCandidate;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.context.ApplicationEventPublisher;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.env.Environment;
import rowlock.jdbc.Jobs;
import rowlock.jdbc.Rowlock;
import rowlock.shedlock.RowlockLockProvider;

/** Jobs and locks on the application's {@link DataSource}. */
@AutoConfiguration(
    afterName = {
      "org.springframework.boot.autoconfigure.jdbc.DataSourceAutoConfiguration",
      "org.springframework.boot.actuate.autoconfigure.metrics"
          + ".CompositeMeterRegistryAutoConfiguration",
      // of Spring Boot 4
      "org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration",
      "org.springframework.boot.micrometer.metrics.autoconfigure"
          + ".CompositeMeterRegistryAutoConfiguration"
    })
@ConditionalOnSingleCandidate(DataSource.class)
@EnableConfigurationProperties(RowlockProperties.class)
public class RowlockAutoConfiguration {
  // what remains of Spring's limit after the grace, for the calls that end the runs
  private static final Duration REST = Duration.ofSeconds(5);

  /** Installs the schema before the jobs start. */
  @Bean
  @ConditionalOnProperty(name = "rowlock.install", havingValue = "always")
  InitializingBean rowlockSchema(DataSource dataSource) {
    return () -> {
      dataSource.getConnection().close(); // the first one may take longer than install() waits
      Rowlock.install(dataSource);
    };
  }

  /** The jobs of the application; what happens to their leases are events of its context. */
  @Bean
  @ConditionalOnMissingBean
  Jobs rowlockJobs(
      DataSource dataSource,
      RowlockProperties properties,
      ApplicationEventPublisher events,
      Environment environment) {
    Duration most =
        Binder.get(environment)
            .bind("spring.lifecycle.timeout-per-shutdown-phase", Duration.class)
            .orElse(Duration.ofSeconds(30))
            .minus(REST);
    Duration grace = properties.grace().compareTo(most) < 0 ? properties.grace() : most;
    return Jobs.on(dataSource)
        .limit(properties.limit())
        .grace(grace.isNegative() ? Duration.ZERO : grace)
        .onEvent(events::publishEvent);
  }

  @Bean
  JobMethods rowlockJobMethods(ConfigurableListableBeanFactory beans, Jobs jobs) {
    return new JobMethods(beans, jobs);
  }

  @Bean
  JobsLifecycle rowlockJobsLifecycle(Jobs jobs, JobMethods methods, RowlockProperties properties) {
    return new JobsLifecycle(jobs, methods, properties.autoStartup());
  }

  /** For an application that uses ShedLock. */
  @Configuration(proxyBeanMethods = false)
  @ConditionalOnClass(LockProvider.class)
  static class ShedLock {
    @Bean
    @ConditionalOnMissingBean
    LockProvider rowlockLockProvider(DataSource dataSource) {
      return new RowlockLockProvider(dataSource);
    }
  }

  /** For an application with Micrometer. */
  @Configuration(proxyBeanMethods = false)
  @ConditionalOnClass(MeterRegistry.class)
  @ConditionalOnBean(MeterRegistry.class)
  static class Metrics {
    @Bean
    LeaseMetrics rowlockLeaseMetrics(MeterRegistry registry) {
      return new LeaseMetrics(registry);
    }
  }

  /** For an application with the actuator of Spring Boot 3. */
  @Configuration(proxyBeanMethods = false)
  @ConditionalOnClass({HealthIndicator.class, ConditionalOnEnabledHealthIndicator.class})
  @ConditionalOnEnabledHealthIndicator("rowlock")
  static class Health {
    @Bean
    HealthIndicator rowlockHealthIndicator(DataSource dataSource, Jobs jobs) {
      return new RowlockHealthIndicator(new RowlockHealth(dataSource, jobs));
    }
  }

  /** The same with Spring Boot 4, where the types have other names. */
  @Configuration(proxyBeanMethods = false)
  @ConditionalOnClass({
    org.springframework.boot.health.contributor.HealthIndicator.class,
    org.springframework.boot.health.autoconfigure.contributor.ConditionalOnEnabledHealthIndicator
        .class
  })
  @org.springframework.boot.health.autoconfigure.contributor.ConditionalOnEnabledHealthIndicator(
      "rowlock")
  static class Health4 {
    @Bean
    org.springframework.boot.health.contributor.HealthIndicator rowlockHealthIndicator(
        DataSource dataSource, Jobs jobs) {
      return new RowlockHealthIndicator4(new RowlockHealth(dataSource, jobs));
    }
  }
}
