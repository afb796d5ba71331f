/* SPDX-License-Identifier: Apache-2.0 */
/* Processes that rowlock may be unable to end: messages before the start, as far as that can be
   known then. */
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "guard/guard.h"
#include "run/supervise/child.h"
#include "run/supervise/run_options.h"
#include "system/command/calls.h"

#define BLANKS " \t\n"
#define PATH_SIZE 4096

/* The program that the command begins with: of `sh -c 'sudo work'`, sudo. Empty if the shell would
   change that word. */
static void first_word(char *const argv[], char *out, size_t size)
{
    const char *base = strrchr(argv[0], '/'), *word = argv[0];
    size_t length = strlen(word);

    if (strcmp(base ? base + 1 : word, "sh") == 0 && argv[1] && strcmp(argv[1], "-c") == 0 &&
        argv[2]) {
        word = argv[2] + strspn(argv[2], BLANKS);
        if (strncmp(word, "exec ", 5) == 0)
            word += 5 + strspn(word + 5, BLANKS);
        length = strcspn(word, BLANKS ";&|<>()$`\\\"'*?[=~#");
        if (word[length] && !strchr(BLANKS ";&|", word[length]))
            length = 0;
    }
    snprintf(out, size, "%.*s", (int)length, word);
}

/* Where exec finds it. Not 0: it does not. */
static int find_program(const char *word, char path[PATH_SIZE])
{
    const char *at = getenv("PATH");

    snprintf(path, PATH_SIZE, "%s", word);
    if (!*word || strchr(word, '/'))
        return access(path, X_OK);
    for (at = at ? at : "/bin:/usr/bin"; at; at = strchr(at, ':')) {
        at += *at == ':';
        if (snprintf(path, PATH_SIZE, "%.*s/%s", (int)strcspn(at, ":"), at, word) < PATH_SIZE &&
            access(path, X_OK) == 0)
            return 0;
    }
    return -1;
}

void say_unendable(const struct run *run)
{
    char word[PATH_SIZE], path[PATH_SIZE];
    const struct passwd *owner;
    struct statvfs mount;
    struct stat file;

    if (!tree_born(getpid()))
        message("/proc does not show the processes: one that the command moves into another "
                "session cannot be ended, and works on if the lock is lost");
    first_word(run->argv, word, sizeof word);
    if (!may_lose_children() || find_program(word, path) || stat(path, &file) ||
        !S_ISREG(file.st_mode) || !(file.st_mode & S_ISUID) || file.st_uid == geteuid() ||
        (statvfs(path, &mount) == 0 && mount.f_flag & ST_NOSUID))
        return;
    owner = getpwuid(file.st_uid);
    message("%s is a set-user-ID program of %s, which this user may be unable to end: it works on "
            "if the lock is lost; run rowlock itself as that user",
            shown(word), owner ? owner->pw_name : "another user");
}
