/* SPDX-License-Identifier: Apache-2.0 */
/* Users: the file of their roles and the hashes of their passwords, and the sessions of those that
   have logged in, which live in this process's memory. */
#ifndef ROWLOCK_SERVE_USERS_H
#define ROWLOCK_SERVE_USERS_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#define USER_SIZE 64      /* a name is 1 to 63 of A-Z a-z 0-9 . _ @ + - */
#define PASSWORD_SIZE 256 /* bytes, with the zero byte */
#define SECRET_SIZE 65    /* 32 random bytes as hexadecimal digits */

enum role { ROLE_NONE, ROLE_VIEWER, ROLE_OPERATOR };

/* "viewer", "operator"; "" */
const char *role_text(enum role role);
/* Whether it has the form of a name. */
int user_name_is_good(const char *name);

/* ---- the file: lines NAME:ROLE:HASH ------------------------------------------------------- */

/* Checks the file, and that this system's crypt() is there. Returns an exit status, with a message
   if it is not STATUS_OK. */
int users_check(const char *path);
/* The role of a name, from the file as it is now. ROLE_NONE: it has none, or the file cannot be
   read, which a message reports. */
enum role users_role(const char *path, const char *name);

enum login { LOGIN_OK, LOGIN_WRONG, LOGIN_TOO_OFTEN };
/* Compares a password with the file's hash; that takes a part of a second. After five failures in a
   row a name has one try a minute, whether the file has it or not. Only one thread may call it. */
enum login users_login(const char *path, const char *name, const char *password, enum role *role);

/* ---- sessions ------------------------------------------------------------------------------ */

struct session {
    char id[SECRET_SIZE];    /* of the cookie; "": no session */
    char token[SECRET_SIZE]; /* which a request that acts must name, and only our page can read */
    char user[USER_SIZE];
    enum role role; /* when it began */
    int by_proxy;   /* a proxy named the user, and must name it in each request */
    int64_t began_ms, used_ms;
};

#define SESSIONS 64
#define SESSIONS_OF_USER 8

struct sessions { /* shared by threads: each function below locks it */
    pthread_mutex_t mutex;
    struct session session[SESSIONS];
};

void sessions_open(struct sessions *sessions);
void sessions_close(struct sessions *sessions);
/* A new session with random secrets; the one that was unused longest makes room, of the same
   user if that one has its share. -1: the system gives no random bytes. */
int sessions_begin(struct sessions *sessions, const char *user, enum role role, int by_proxy,
                   struct session *out);
/* Copies the session of this id (NULL: none), and prolongs it. 0: there is none; it ends an hour
   after its last use, twelve hours after its begin, or by sessions_end(). */
int sessions_find(struct sessions *sessions, const char *id, struct session *out);
void sessions_end(struct sessions *sessions, const char *id);

/* Whether two secrets are equal, in a time that does not depend on where they differ. */
int secret_is(const char *secret, const char *given);

#endif
