/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the Java virtual machine, and the jars of JDBC drivers. */
#include <dlfcn.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "driver/jdbc/jvm.h"
#include "system/system.h"
#include "util/bytes.h"
#include "util/error.h"

#define INSTALL_JVM \
    "install the package default-jre-headless, or set ROWLOCK_LIBJVM to the path of a libjvm.so"

/* ---- libjvm -------------------------------------------------------------------------------- */

static void *load_usual(void)
{
    static const char *const patterns[] = {
        "/usr/lib/jvm/default-java/lib/server/libjvm.so", /* Debian */
        "/usr/lib/jvm/default/lib/server/libjvm.so",      /* Arch Linux */
        "/usr/lib/jvm/jre/lib/server/libjvm.so",          /* Fedora */
        "/usr/lib/jvm/*/lib/server/libjvm.so",            /* any */
        "/usr/lib/jvm/*/jre/lib/*/server/libjvm.so",      /* Java 8 */
        "/opt/java/openjdk/lib/server/libjvm.so",         /* containers */
    };
    const char *home = getenv("JAVA_HOME");
    void *library = NULL;
    char path[PATH_MAX];
    glob_t found;

    if (home && *home) {
        snprintf(path, sizeof path, "%s/lib/server/libjvm.so", home);
        library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    }
    for (size_t i = 0; !library && i < sizeof patterns / sizeof *patterns; i++) {
        if (glob(patterns[i], 0, NULL, &found) != 0)
            continue;
        for (size_t j = 0; !library && j < found.gl_pathc; j++)
            library = dlopen(found.gl_pathv[j], RTLD_NOW | RTLD_LOCAL);
        globfree(&found);
    }
    return library;
}

int rowlock__jdbc_find_jvm(void **library, struct rowlock_error *error)
{
    const char *named = getenv("ROWLOCK_LIBJVM");

    /* the copy that the process has: rowlock is then used from a Java program */
    *library = rowlock__loaded_library("libjvm.so");
    if (*library)
        return ROWLOCK_OK;
    if (named && *named) {
        *library = dlopen(named, RTLD_NOW | RTLD_LOCAL);
        return *library ? ROWLOCK_OK
                        : rowlock__fail(error, ROWLOCK_EDRIVER,
                                        "cannot load the Java virtual machine of ROWLOCK_LIBJVM: "
                                        "%s; " INSTALL_JVM,
                                        dlerror());
    }
    *library = load_usual();
    if (*library)
        return ROWLOCK_OK;
    return rowlock__fail(error, ROWLOCK_EDRIVER,
                         "no Java virtual machine for jdbc: URLs; " INSTALL_JVM);
}

/* ---- the class path ------------------------------------------------------------------------ */

#define JARS "/usr/share/java/"

/* Without any jar the class path is that folder. An empty class path would mean the working
   directory, in which others may have put classes. */
char *rowlock__jdbc_class_path(void)
{
    static const char *const jars[] = {"derbyclient", "h2", "hsqldb", "postgresql",
                                       "mariadb-java-client"};
    const char *own = getenv("ROWLOCK_CLASSPATH");
    char *path = own && *own ? strdup(own) : strdup(JARS);

    for (size_t i = 0; path && !(own && *own) && i < sizeof jars / sizeof *jars; i++) {
        char jar[100], *longer;

        snprintf(jar, sizeof jar, JARS "%s.jar", jars[i]);
        if (access(jar, R_OK) != 0)
            continue;
        longer = rowlock__join(path, ":", jar);
        free(path);
        path = longer;
    }
    return path;
}

/* ---- for people ---------------------------------------------------------------------------- */

void rowlock__jdbc_describe(FILE *out)
{
    const char *named = getenv("ROWLOCK_LIBJVM");
    const char *path = NULL;
    char *jars, *rest = NULL;
    void *library = NULL;
    int n = 0;

    if (rowlock__jdbc_find_jvm(&library, NULL) == ROWLOCK_OK) {
        path = rowlock__path_of_function(dlsym(library, "JNI_CreateJavaVM"));
        fprintf(out, "%s\n", path ? path : "libjvm.so");
    } else if (named && *named) {
        fprintf(out, "not found: no Java virtual machine at ROWLOCK_LIBJVM, %s; " INSTALL_JVM "\n",
                named);
    } else {
        fputs("not found: " INSTALL_JVM "\n", out);
    }
    jars = rowlock__jdbc_class_path();
    fputs("    jars: ", out);
    for (char *entry = jars ? strtok_r(jars, ":", &rest) : NULL; entry;
         entry = strtok_r(NULL, ":", &rest)) {
        if (strcmp(entry, JARS) == 0)
            continue;
        fprintf(out, "%s%s%s", n++ ? ", " : "", entry,
                access(entry, R_OK) == 0 ? "" : " (not found)"); /* of ROWLOCK_CLASSPATH */
    }
    if (n == 0)
        fputs("none in " JARS ": install the package libderbyclient-java, libh2-java, "
              "libhsqldb-java, libpostgresql-jdbc-java or libmariadb-java, or name the jar of a "
              "driver in ROWLOCK_CLASSPATH",
              out);
    fputs("\n", out);
    free(jars);
}
