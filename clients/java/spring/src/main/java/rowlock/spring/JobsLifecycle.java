// SPDX-License-Identifier: Apache-2.0
package rowlock.spring;

import java.util.concurrent.CountDownLatch;
import org.springframework.context.SmartLifecycle;
import rowlock.jdbc.Jobs;

/** Starts the jobs as the last part of the application, and stops them as the first. */
final class JobsLifecycle implements SmartLifecycle {
  private final Jobs jobs;
  private final JobMethods methods;
  private final boolean autoStartup;
  private final CountDownLatch stopped = new CountDownLatch(1);
  private volatile boolean running;

  JobsLifecycle(Jobs jobs, JobMethods methods, boolean autoStartup) {
    this.jobs = jobs;
    this.methods = methods;
    this.autoStartup = autoStartup;
  }

  @Override
  public boolean isAutoStartup() {
    return autoStartup;
  }

  @Override
  public boolean isRunning() {
    return running;
  }

  @Override
  public void start() {
    jobs.start();
    running = true;
    if (methods.anyFound()) {
      new Thread(this::keepAlive, "rowlock keep-alive").start();
    }
  }

  /** As with Spring's own scheduler, a program that only has jobs does not end by itself. */
  private void keepAlive() {
    try {
      stopped.await();
    } catch (InterruptedException error) {
      Thread.currentThread().interrupt();
    }
  }

  @Override
  public void stop() {
    try {
      jobs.close();
    } finally {
      running = false;
      stopped.countDown();
    }
  }

  /** In a thread, so that Spring's limit counts, and others stop at the same time. */
  @Override
  public void stop(Runnable callback) {
    Runnable work =
        () -> {
          try {
            stop();
          } finally {
            callback.run();
          }
        };
    new Thread(work, "rowlock stop").start();
  }
}
