/* SPDX-License-Identifier: Apache-2.0 */
/* The clones as machines: switched on, unplugged, suspended, woken. */
#include <errno.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "demo/clones.h"
#include "guard/guard.h"
#include "system/command/calls.h"

#define LOOK_AGAIN_MS 5

/* ---- on -------------------------------------------------------------------------------------- */

/* Becomes a clone, with a process group of its own: a ^C at the terminal reaches only the
   conductor, which ends all clones. */
static _Noreturn void be_clone(const struct clones_farm *farm, int clone)
{
    setpgid(0, 0);
    if (end_with_parent(farm->conductor))
        _exit(1);
    sigprocmask(SIG_SETMASK, &farm->signals, NULL);
    clones_exec(farm, clone, 0);
    _exit(1);
}

int clones_start(struct clones_farm *farm, pid_t *pids)
{
    farm->log->farm = *farm;
    for (int i = 0; i < CLONES; i++) {
        pids[i] = fork();
        if (pids[i] == 0)
            be_clone(farm, i);
        if (pids[i] < 0) {
            pids[i] = 0;
            return -1;
        }
    }
    return 0;
}

/* ---- kill, freeze, wake ---------------------------------------------------------------------- */

/* Stops all its processes first, so that none of them sees another die. */
void clones_kill(pid_t clone)
{
    struct tree tree;

    kill(clone, SIGSTOP);
    tree_signal(clone, SIGSTOP, 0, &tree);
    tree_signal(clone, SIGKILL, 0, &tree);
    kill(clone, SIGKILL);
}

/* Checks before it stops the clone, because a clone that is stopped repeatedly makes no progress,
   and again afterwards. */
int clones_freeze(const struct clones_farm *farm, int clone, pid_t pid)
{
    const atomic_int *asking = &farm->log->asking[clone];
    struct tree tree = {0};
    siginfo_t info;
    int in_midst;

    if (atomic_load(asking))
        return 1;
    kill(pid, SIGSTOP);
    while (waitid(P_PID, (id_t)pid, &info, WSTOPPED | WEXITED | WNOWAIT) && errno == EINTR)
        ;
    in_midst = atomic_load(asking);
    if (!in_midst && tree_signal(pid, SIGSTOP, 0, &tree) == 0 &&
        tree_signal(pid, 0, 0, &tree) == 0 && tree.alive == 2) /* the guard, and the sender */
        return 0;
    clones_wake(pid);
    return in_midst ? 1 : -1;
}

void clones_wake(pid_t clone)
{
    struct tree tree;

    tree_signal(clone, SIGCONT, 0, &tree);
    kill(clone, SIGCONT);
}

/* ---- off ------------------------------------------------------------------------------------- */

/* Orphans become our children. Stops all first, and kills a guard before its clone, so that no
   guard prints a message about the end. */
void clones_end_all(const pid_t *pids)
{
    struct tree tree;

    for (int i = 0; i < CLONES; i++)
        if (pids[i])
            clones_kill(pids[i]);
    if (reap_all())
        return;
    tree_signal(getpid(), SIGSTOP, 0, &tree);
    while (!reap_all() && tree_signal(getpid(), SIGKILL, 0, &tree) == 0)
        poll(NULL, 0, LOOK_AGAIN_MS);
}
