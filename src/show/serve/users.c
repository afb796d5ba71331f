/* SPDX-License-Identifier: Apache-2.0 */
#include "show/serve/users.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "command/exit_status.h"
#include "command/output/output.h"
#include "system/system.h"
#include "util/bytes.h"
#include "util/clock.h"
#include "util/secret_file.h"

#define LINE 512
#define FAILURES 5     /* in a row, before a name must wait */
#define PAUSE_MS 60000 /* between two tries then */
#define COUNTED 4096   /* hashes of names */
#define HASH_LEAST 20  /* shorter ones are of the old DES, or no hash */

struct user {
    char name[USER_SIZE];
    enum role role;
    char hash[LINE]; /* "-": this user has no password, and comes by a proxy */
};

const char *role_text(enum role role)
{
    return role == ROLE_OPERATOR ? "operator" : role == ROLE_VIEWER ? "viewer" : "";
}

int user_name_is_good(const char *name)
{
    size_t n = strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._@+-");

    return n > 0 && n < USER_SIZE && !name[n];
}

/* ---- crypt(3) of this system ----------------------------------------------------------------- */

typedef char *crypt_function(const char *password, const char *hash);

/* It is in libcrypt; where there is none, as with musl, in the C library. */
static crypt_function *find_crypt(void)
{
    static const char *const files[] = {"libcrypt.so.2", "libcrypt.so.1"};
    crypt_function *found;
    void *symbol = NULL;

    for (size_t i = 0; !symbol && i < sizeof files / sizeof *files; i++) {
        void *handle = dlopen(files[i], RTLD_NOW | RTLD_LOCAL);

        symbol = handle ? dlsym(handle, "crypt") : NULL;
    }
    if (!symbol)
        symbol = dlsym(rowlock__own_symbols(), "crypt");
    memcpy(&found, &symbol, sizeof found);
    return found;
}

/* Only yescrypt, and sha512crypt for systems without it: others are too easy to guess. */
static int is_hash(const char *hash)
{
    return (strncmp(hash, "$y$", 3) == 0 || strncmp(hash, "$6$", 3) == 0) &&
           strlen(hash) >= HASH_LEAST;
}

static int password_is(const char *password, const char *hash)
{
    static crypt_function *function; /* one thread */
    const char *made;

    if (!function)
        function = find_crypt();
    made = function ? function(password, hash) : NULL;
    if (!made || *made == '*') {
        message("this system's crypt() cannot check the kind of hash %.3s", hash);
        return 0;
    }
    return secret_is(hash, made);
}

/* ---- the file -------------------------------------------------------------------------------- */

static FILE *open_file(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    FILE *file = NULL;
    struct stat is;

    if (fd < 0 || fstat(fd, &is))
        message("--users: cannot read '%s': %s", path, strerror(errno));
    else if (!S_ISREG(is.st_mode))
        message("--users: '%s' is not a regular file", path);
    else if (rowlock__secret_file(&is) != ROWLOCK_SECRET_SAFE)
        message("--users: '%s' must belong to this user or to root, and no other user may read or "
                "change it: chmod 600 '%s'",
                path, path);
    else
        file = fdopen(fd, "r");
    if (!file && fd >= 0)
        close(fd);
    return file;
}

/* Returns why the line is wrong; NULL: it is good. */
static const char *read_user(char *line, struct user *out)
{
    char *role = strchr(line, ':'), *hash = role ? strchr(role + 1, ':') : NULL;

    if (!hash)
        return "it is not NAME:ROLE:HASH";
    *role++ = *hash++ = '\0';
    if (!user_name_is_good(line))
        return "the name has other characters than letters, digits and . _ @ + -, or more than 63";
    out->role = strcmp(role, "viewer") == 0     ? ROLE_VIEWER
                : strcmp(role, "operator") == 0 ? ROLE_OPERATOR
                                                : ROLE_NONE;
    if (!out->role)
        return "the role is neither viewer nor operator";
    if (strcmp(hash, "-") != 0 && !is_hash(hash))
        return "the hash is neither of yescrypt ($y$) nor of sha512crypt ($6$), nor -";
    strcpy(out->name, line);
    strcpy(out->hash, hash);
    return NULL;
}

/* The next user. 0: the end, or a wrong line, which a message reports. */
static int next_user(FILE *file, const char *path, int *number, int *wrong, struct user *out)
{
    char line[LINE];
    const char *why;

    do {
        ++*number;
        if (!fgets(line, sizeof line, file))
            return 0;
        if (!strchr(line, '\n') && !feof(file)) {
            message("--users: '%s', line %d is too long", path, *number);
            *wrong = 1;
            return 0;
        }
        line[strcspn(line, "\r\n")] = '\0';
    } while (*line == '#' || !*line);
    why = read_user(line, out);
    rowlock__wipe(line, sizeof line);
    if (!why)
        return 1;
    message("--users: '%s', line %d: %s", path, *number, why);
    *wrong = 1;
    return 0;
}

/* Finds a name. `*any`: a user with a password, if there is one. 0: the file has no such name, or
   cannot be read to its end. */
static int find_user(const char *path, const char *name, struct user *out, struct user *any)
{
    FILE *file = open_file(path);
    int number = 0, wrong = 0, found = 0;
    struct user user;

    if (!file)
        return 0;
    while (next_user(file, path, &number, &wrong, &user)) {
        if (!found && strcmp(user.name, name) == 0) {
            *out = user;
            found = 1;
        }
        if (any && !*any->hash && is_hash(user.hash))
            *any = user;
    }
    fclose(file);
    rowlock__wipe(&user, sizeof user);
    return found && !wrong;
}

int users_check(const char *path)
{
    FILE *file = open_file(path);
    int number = 0, wrong = 0, n = 0;
    struct user user;

    if (!file)
        return STATUS_USAGE;
    while (next_user(file, path, &number, &wrong, &user))
        n++;
    fclose(file);
    rowlock__wipe(&user, sizeof user);
    if (!wrong && n == 0)
        message("--users: '%s' has no user", path);
    if (wrong || n == 0)
        return STATUS_USAGE;
    if (find_crypt())
        return STATUS_OK;
    message("cannot load libcrypt, which checks passwords; install the package libcrypt1");
    return STATUS_UNAVAILABLE;
}

enum role users_role(const char *path, const char *name)
{
    struct user user;
    int found = find_user(path, name, &user, NULL);
    enum role role = found ? user.role : ROLE_NONE;

    rowlock__wipe(&user, sizeof user);
    return role;
}

/* ---- logins ---------------------------------------------------------------------------------- */

/* The failures in a row of all names with the same hash. An unknown name is counted as a known one,
   and so the answers do not tell which names the file has. */
static struct failures {
    int n;
    int64_t last_ms;
} failures[COUNTED];

/* The seed is random, so that no client can choose a name with the hash of another. */
static struct failures *failures_of(const char *name)
{
    static uint64_t seed; /* one thread */
    uint64_t hash;

    if (!seed)
        rowlock__random_bytes(&seed, sizeof seed);
    hash = seed;
    for (; *name; name++) {
        hash = (hash ^ (unsigned char)*name) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 32;
    }
    return &failures[hash % COUNTED];
}

enum login users_login(const char *path, const char *name, const char *password, enum role *role)
{
    struct user user = {.hash = ""}, any = {.hash = ""};
    int is_known = find_user(path, name, &user, &any) && is_hash(user.hash);
    struct failures *failed = failures_of(name);
    int64_t now_ms = rowlock__now_ms();
    int is_right = 0;

    if (failed->n >= FAILURES && now_ms < failed->last_ms + PAUSE_MS) {
        rowlock__wipe(&user, sizeof user);
        rowlock__wipe(&any, sizeof any);
        return LOGIN_TOO_OFTEN;
    }
    /* an unknown name takes as long as a known one */
    if (is_known || *any.hash)
        is_right = password_is(password, is_known ? user.hash : any.hash) && is_known;
    *role = is_right ? user.role : ROLE_NONE;
    rowlock__wipe(&user, sizeof user);
    rowlock__wipe(&any, sizeof any);
    failed->n = is_right ? 0 : failed->n + (failed->n < FAILURES);
    failed->last_ms = now_ms;
    return is_right ? LOGIN_OK : LOGIN_WRONG;
}
