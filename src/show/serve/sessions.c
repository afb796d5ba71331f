/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "show/serve/users.h"
#include "system/system.h"
#include "util/bytes.h"
#include "util/clock.h"

#define IDLE_MS 3600000
#define LONGEST_MS (12 * (int64_t)3600000)

int secret_is(const char *secret, const char *given)
{
    size_t length = strlen(secret);
    unsigned different = 0;

    if (strlen(given) != length) /* every secret has this length */
        return 0;
    for (size_t i = 0; i < length; i++)
        different |= (unsigned char)secret[i] ^ (unsigned char)given[i];
    return different == 0;
}

void sessions_open(struct sessions *sessions)
{
    memset(sessions, 0, sizeof *sessions);
    pthread_mutex_init(&sessions->mutex, NULL);
}

void sessions_close(struct sessions *sessions)
{
    pthread_mutex_destroy(&sessions->mutex);
    rowlock__wipe(sessions->session, sizeof sessions->session);
}

static int make_secret(char *out)
{
    char bytes[(SECRET_SIZE - 1) / 2];
    int failed = rowlock__random_bytes(bytes, sizeof bytes);

    rowlock__put_hex(out, bytes, sizeof bytes);
    rowlock__wipe(bytes, sizeof bytes);
    return failed;
}

int sessions_begin(struct sessions *sessions, const char *user, enum role role, int by_proxy,
                   struct session *out)
{
    struct session *place = &sessions->session[0], *own = NULL;
    int n = 0;

    *out = (struct session){.role = role, .by_proxy = by_proxy, .began_ms = rowlock__now_ms()};
    out->used_ms = out->began_ms;
    strcpy(out->user, user);
    if (make_secret(out->id) || make_secret(out->token))
        return -1;
    pthread_mutex_lock(&sessions->mutex);
    for (int i = 0; i < SESSIONS; i++) {
        struct session *other = &sessions->session[i];

        if (other->used_ms < place->used_ms)
            place = other;
        if (strcmp(other->user, user) != 0)
            continue;
        n++;
        if (!own || other->used_ms < own->used_ms)
            own = other;
    }
    if (n >= SESSIONS_OF_USER)
        place = own;
    *place = *out;
    pthread_mutex_unlock(&sessions->mutex);
    return 0;
}

/* Compares with each, so that the time does not depend on which one it is. */
static struct session *find(struct sessions *sessions, const char *id)
{
    struct session *found = NULL;

    for (int i = 0; id && i < SESSIONS; i++)
        if (*sessions->session[i].id && secret_is(sessions->session[i].id, id))
            found = &sessions->session[i];
    return found;
}

int sessions_find(struct sessions *sessions, const char *id, struct session *out)
{
    int64_t now_ms = rowlock__now_ms();
    struct session *found;

    *out = (struct session){.id = ""};
    pthread_mutex_lock(&sessions->mutex);
    found = find(sessions, id);
    if (found && (now_ms > found->used_ms + IDLE_MS || now_ms > found->began_ms + LONGEST_MS)) {
        rowlock__wipe(found, sizeof *found);
        found = NULL;
    }
    if (found) {
        found->used_ms = now_ms;
        *out = *found;
    }
    pthread_mutex_unlock(&sessions->mutex);
    return found != NULL;
}

void sessions_end(struct sessions *sessions, const char *id)
{
    struct session *found;

    pthread_mutex_lock(&sessions->mutex);
    found = find(sessions, id);
    if (found)
        rowlock__wipe(found, sizeof *found);
    pthread_mutex_unlock(&sessions->mutex);
}
