// SPDX-License-Identifier: Apache-2.0
package rowlock.spring;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.time.Duration;
import java.time.ZoneId;
import java.util.Map;
import java.util.function.Consumer;
import org.springframework.aop.framework.autoproxy.AutoProxyUtils;
import org.springframework.aop.scope.ScopedProxyUtils;
import org.springframework.aop.support.AopUtils;
import org.springframework.beans.factory.SmartInitializingSingleton;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.boot.convert.DurationStyle;
import org.springframework.core.MethodIntrospector;
import org.springframework.core.MethodIntrospector.MetadataLookup;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.core.annotation.AnnotationUtils;
import org.springframework.util.ClassUtils;
import org.springframework.util.ReflectionUtils;
import rowlock.jdbc.Job;
import rowlock.jdbc.Jobs;
import rowlock.jdbc.Run;

/** Defines the jobs of the methods with {@link RowlockJob}, when all beans are there. */
final class JobMethods implements SmartInitializingSingleton {
  private static final MetadataLookup<RowlockJob> LOOKUP =
      method -> AnnotatedElementUtils.findMergedAnnotation(method, RowlockJob.class);

  private final ConfigurableListableBeanFactory beans;
  private final Jobs jobs;
  private boolean found;

  JobMethods(ConfigurableListableBeanFactory beans, Jobs jobs) {
    this.beans = beans;
    this.jobs = jobs;
  }

  boolean anyFound() {
    return found;
  }

  @Override
  public void afterSingletonsInstantiated() {
    for (String bean : beans.getBeanNamesForType(Object.class)) {
      Class<?> type = ScopedProxyUtils.isScopedTarget(bean) ? null : typeOf(bean);
      if (type != null && AnnotationUtils.isCandidateClass(type, RowlockJob.class)) {
        Map<Method, RowlockJob> methods = MethodIntrospector.selectMethods(type, LOOKUP);
        methods.forEach((method, job) -> define(bean, method, job));
      }
    }
  }

  /** The class that the application wrote, not that of a proxy. */
  private Class<?> typeOf(String bean) {
    Class<?> type = AutoProxyUtils.determineTargetClass(beans, bean);
    return type == null ? null : ClassUtils.getUserClass(type);
  }

  private void define(String bean, Method method, RowlockJob job) {
    try {
      if (!text(job.cron()).equals("-") && !text(job.every()).equals("-")) {
        settings(job).run(task(bean, method));
        found = true;
      }
    } catch (RuntimeException error) {
      throw new IllegalStateException(
          "@RowlockJob of %s: %s".formatted(method.toGenericString(), error.getMessage()), error);
    }
  }

  private Job settings(RowlockJob from) {
    Job job = jobs.job(text(from.name())).history(from.history());
    ifGiven(from.cron(), job::cron);
    ifGiven(from.every(), job::every);
    ifGiven(from.zone(), zone -> job.zone(ZoneId.of(zone)));
    ifGiven(from.maxRun(), time -> job.maxRun(duration(time)));
    ifGiven(from.backoff(), time -> job.backoff(duration(time)));
    ifGiven(from.ttl(), time -> job.ttl(duration(time)));
    ifGiven(from.atLeast(), time -> job.atLeast(duration(time)));
    ifGiven(from.note(), job::note);
    if (from.retry() != -1) {
      job.retry(from.retry());
    }
    return from.missed() == RowlockJob.Missed.SKIP ? job.skipMissed() : job;
  }

  private void ifGiven(String setting, Consumer<String> setter) {
    String text = text(setting);
    if (!text.isEmpty()) {
      setter.accept(text);
    }
  }

  private String text(String setting) {
    String text = beans.resolveEmbeddedValue(setting);
    return text == null ? "" : text.strip();
  }

  private static Duration duration(String text) {
    return DurationStyle.detectAndParse(text);
  }

  /** Calls the method through the bean's proxy, if it has one, such as that of a transaction. */
  private Job.Task task(String bean, Method declared) {
    Method method = AopUtils.selectInvocableMethod(declared, beans.getType(bean));
    boolean takesRun =
        method.getParameterCount() == 1 && method.getParameterTypes()[0] == Run.class;
    if (method.getParameterCount() != 0 && !takesRun) {
      throw new IllegalArgumentException("the method must have no parameter, or one Run");
    }
    ReflectionUtils.makeAccessible(method);
    return run -> {
      try {
        method.invoke(beans.getBean(bean), takesRun ? new Object[] {run} : new Object[0]);
      } catch (InvocationTargetException error) {
        ReflectionUtils.rethrowException(error.getTargetException());
      }
    };
  }
}
