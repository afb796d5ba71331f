/* SPDX-License-Identifier: Apache-2.0 */
#include "system/system.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int rowlock__wakeup_open(struct rowlock_wakeup *wakeup)
{
    wakeup->fd = wakeup->sender = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return wakeup->fd < 0 ? -1 : 0;
}

void rowlock__wakeup_close(struct rowlock_wakeup *wakeup)
{
    if (wakeup->fd >= 0)
        close(wakeup->fd);
    *wakeup = (struct rowlock_wakeup)ROWLOCK_NO_WAKEUP;
}

void rowlock__wakeup_send(const struct rowlock_wakeup *wakeup)
{
    static const uint64_t one = 1;

    while (write(wakeup->sender, &one, sizeof one) < 0 && errno == EINTR)
        continue;
}

uint64_t rowlock__wakeup_take(const struct rowlock_wakeup *wakeup)
{
    uint64_t times = 0;

    while (read(wakeup->fd, &times, sizeof times) < 0 && errno == EINTR)
        continue;
    return times;
}

int64_t rowlock__system_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_BOOTTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

#define MOST_WITHOUT_PROC 4096

int rowlock__pipe(int ends[2])
{
    return pipe2(ends, O_CLOEXEC);
}

void rowlock__visit_descriptors(void (*visit)(void *data, int fd), void *data)
{
    struct rlimit limit = {.rlim_cur = MOST_WITHOUT_PROC};
    DIR *folder = opendir("/proc/self/fd");
    struct dirent *entry;

    while (folder && (entry = readdir(folder)))
        if (entry->d_name[0] != '.' && atoi(entry->d_name) != dirfd(folder))
            visit(data, atoi(entry->d_name));
    if (folder) {
        closedir(folder);
        return;
    }
    getrlimit(RLIMIT_NOFILE, &limit);
    for (int fd = 0; fd < MOST_WITHOUT_PROC && (rlim_t)fd < limit.rlim_cur; fd++)
        if (fcntl(fd, F_GETFD) >= 0)
            visit(data, fd);
}

bool rowlock__has_hung_up(int fd)
{
    struct pollfd connection = {.fd = fd, .events = POLLRDHUP};

    return poll(&connection, 1, 0) > 0;
}

#define MASK_TYPE 0x1u                 /* STATX_TYPE */
#define AT_MOUNT_ROOT UINT64_C(0x2000) /* STATX_ATTR_MOUNT_ROOT, of Linux 5.8 */

/* The beginning of struct statx. musl has neither it nor the function before 1.2.5. */
union status {
    struct {
        uint32_t mask, block_size;
        uint64_t attributes;
        uint32_t links, uid, gid;
        uint16_t mode;
    } is;
    char all[256];
};

bool rowlock__is_mounted_alone(const char *path)
{
    union status status;

    return syscall(SYS_statx, AT_FDCWD, path, AT_NO_AUTOMOUNT, MASK_TYPE, &status) == 0 &&
           S_ISREG(status.is.mode) && (status.is.attributes & AT_MOUNT_ROOT);
}

void *rowlock__own_symbols(void)
{
    return RTLD_DEFAULT;
}

struct search {
    const char *file;
    char path[PATH_MAX];
};

static int is_found(struct dl_phdr_info *info, __attribute__((unused)) size_t size, void *data)
{
    struct search *search = data;
    const char *name = strrchr(info->dlpi_name, '/');

    if (strcmp(search->file, info->dlpi_name) != 0 &&
        (!name || strcmp(search->file, name + 1) != 0))
        return 0;
    snprintf(search->path, sizeof search->path, "%s", info->dlpi_name);
    return 1;
}

static int option_of(int fd, int level, int name)
{
    int value = 0;
    socklen_t size = sizeof value;

    return getsockopt(fd, level, name, &value, &size) ? -1 : value;
}

void rowlock__keep_alive(int fd)
{
    static const struct {
        int name, value;
    } options[] = {{TCP_KEEPIDLE, ROWLOCK_SILENT_S},
                   {TCP_KEEPINTVL, ROWLOCK_PROBE_S},
                   {TCP_KEEPCNT, ROWLOCK_PROBES},
                   {TCP_USER_TIMEOUT, ROWLOCK_UNANSWERED_MS}};
    int fresh, yes = 1;

    if (fd < 0 || option_of(fd, SOL_SOCKET, SO_PROTOCOL) != IPPROTO_TCP)
        return;
    fresh = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0); /* has the system's defaults */
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        if (option_of(fd, IPPROTO_TCP, options[i].name) ==
            option_of(fresh, IPPROTO_TCP, options[i].name))
            setsockopt(fd, IPPROTO_TCP, options[i].name, &options[i].value,
                       sizeof options[i].value);
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &yes, sizeof yes);
    if (fresh >= 0)
        close(fresh);
}

void *rowlock__loaded_library(const char *file)
{
    struct search search = {.file = file};

    return dl_iterate_phdr(is_found, &search) ? dlopen(search.path, RTLD_LAZY | RTLD_NOLOAD) : NULL;
}

const char *rowlock__path_of_function(const void *function)
{
    Dl_info info;

    return function && dladdr(function, &info) ? info.dli_fname : NULL;
}

const char *rowlock__program_name(void)
{
    return program_invocation_short_name;
}

uintmax_t rowlock__pid_namespace(void)
{
    struct stat space = {0};

    stat("/proc/self/ns/pid", &space);
    return space.st_ino;
}

static char boot_id[40];

static void read_boot_id(void)
{
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t got = fd >= 0 ? read(fd, boot_id, sizeof boot_id - 1) : -1;

    boot_id[got > 0 ? got : 0] = '\0';
    if (fd >= 0)
        close(fd);
}

const char *rowlock__boot_id(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, read_boot_id);
    return boot_id;
}

int rowlock__random_bytes(void *out, size_t n)
{
    unsigned char *at = out;

    while (n > 0) {
        ssize_t got = getrandom(at, n, 0);

        if (got < 0 && errno != EINTR)
            return -1;
        if (got > 0) {
            at += got;
            n -= (size_t)got;
        }
    }
    return 0;
}
