/* SPDX-License-Identifier: Apache-2.0 */
/* Coroutines on stacks of their own (fiber.h). */
/* _FORTIFY_SOURCE, which Ubuntu's gcc sets, ends the process at a _longjmp to another stack. */
#undef _FORTIFY_SOURCE
#include "simulation/fiber.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FIBER_ASAN
#elif __has_feature(thread_sanitizer)
#define FIBER_TSAN
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define FIBER_ASAN
#elif defined(__SANITIZE_THREAD__)
#define FIBER_TSAN
#endif

#ifdef FIBER_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>

/* ASan's swapcontext forgets the state of the whole stack. From 64 KiB of shadow on it asks the
   kernel each time, which took three quarters of a history's time. */
const char *__asan_default_options(void)
{
    return "clear_shadow_mmap_threshold=1000000000";
}
#endif
#ifdef FIBER_TSAN
#include <sanitizer/tsan_interface.h>
#endif

/* swapcontext calls the kernel for the signal mask each time, which takes a third of a history's
   time. Only the first switch to a new stack needs it; the sanitizers can follow nothing else. */
#if defined(FIBER_ASAN) || defined(FIBER_TSAN)
#define SWITCH(from, to) swapcontext(&(from).context, &(to).context)
#else
#define SWITCH(from, to)                 \
    do {                                 \
        if (_setjmp((from).jump) == 0) { \
            if ((to).entered)            \
                _longjmp((to).jump, 1);  \
            (to).entered = true;         \
            setcontext(&(to).context);   \
        }                                \
    } while (0)
#endif

#define STACK_SIZE ((size_t)1 << 20)

struct place {
    ucontext_t context;
    jmp_buf jump;
    bool entered; /* `jump` is set */
};

struct fiber {
    struct place place;
    char *stack;
    void (*function)(void *data);
    void *data;
    bool running;
    void *fake_stack, *thread; /* for the sanitizers */
};

static struct place outside = {.entered = true};
static struct fiber *current;
#ifdef FIBER_ASAN
static const void *outside_stack;
static size_t outside_size;
static void *outside_fake_stack;
#endif
#ifdef FIBER_TSAN
static void *outside_thread;
#endif

struct fiber *fiber_new(void)
{
    struct fiber *fiber = calloc(1, sizeof *fiber);

    if (!fiber)
        abort();
    fiber->stack = mmap(NULL, STACK_SIZE, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (fiber->stack == MAP_FAILED) {
        perror("mmap");
        abort();
    }
    return fiber;
}

void fiber_free(struct fiber *fiber)
{
    if (!fiber)
        return;
#ifdef FIBER_TSAN
    if (fiber->thread)
        __tsan_destroy_fiber(fiber->thread);
#endif
    munmap(fiber->stack, STACK_SIZE);
    free(fiber);
}

static void leave(struct fiber *fiber, bool for_good)
{
    (void)for_good;
#ifdef FIBER_ASAN
    __sanitizer_start_switch_fiber(for_good ? NULL : &fiber->fake_stack, outside_stack,
                                   outside_size);
#endif
#ifdef FIBER_TSAN
    __tsan_switch_to_fiber(outside_thread, 0);
#endif
    SWITCH(fiber->place, outside);
#ifdef FIBER_ASAN
    __sanitizer_finish_switch_fiber(fiber->fake_stack, &outside_stack, &outside_size);
#endif
}

static void begin(void)
{
    struct fiber *fiber = current;

#ifdef FIBER_ASAN
    __sanitizer_finish_switch_fiber(NULL, &outside_stack, &outside_size);
#endif
    fiber->function(fiber->data);
    fiber->running = false;
    leave(fiber, true);
    abort();
}

void fiber_start(struct fiber *fiber, void (*function)(void *data), void *data)
{
    fiber->function = function;
    fiber->data = data;
    fiber->running = true;
    fiber->fake_stack = NULL;
#ifdef FIBER_TSAN
    if (fiber->thread)
        __tsan_destroy_fiber(fiber->thread);
    fiber->thread = __tsan_create_fiber(0);
#endif
    fiber->place.entered = false;
    getcontext(&fiber->place.context);
    fiber->place.context.uc_stack.ss_sp = fiber->stack;
    fiber->place.context.uc_stack.ss_size = STACK_SIZE;
    fiber->place.context.uc_link = NULL;
    makecontext(&fiber->place.context, begin, 0);
}

bool fiber_resume(struct fiber *fiber)
{
    if (!fiber->running)
        return false;
    current = fiber;
#ifdef FIBER_ASAN
    __sanitizer_start_switch_fiber(&outside_fake_stack, fiber->stack, STACK_SIZE);
#endif
#ifdef FIBER_TSAN
    outside_thread = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(fiber->thread, 0);
#endif
    SWITCH(outside, fiber->place);
#ifdef FIBER_ASAN
    __sanitizer_finish_switch_fiber(outside_fake_stack, NULL, NULL);
#endif
    current = NULL;
    return fiber->running;
}

void fiber_yield(void)
{
    leave(current, false);
}
