# SPDX-License-Identifier: Apache-2.0
# The targets demo, check, check-full, check-rest and smoke, and the test programs. Included by the
# Makefile.
#
# Tests are found, never registered: every tests/unit/*_test.c, tests/conformance/*.c,
# tests/sessions/*.c and tests/leases/*.c is one program, linked with the test harness
# (tests/lib/*.c) and the static library (whose hidden symbols a unit test may call). tests/run
# finds the scripts itself.

.PHONY: demo check check-full check-rest check-installed check-posix smoke smoke-programs \
        test-programs

# Only a new make sees newly installed packages with pkg-config. It uses all processors, unless the
# caller has said -j.
all_processors = $(if $(filter -j% --jobserver%,$(MAKEFLAGS)),,-j$(shell getconf _NPROCESSORS_ONLN))
demo:
	@tools/install-packages demo
	@+$(MAKE) --no-print-directory $(all_processors) demo-installed

.PHONY: demo-installed
demo-installed: all
	@folder=$$(mktemp -d) && trap 'rm -rf "$$folder"' EXIT && \
	  $(BUILD)/rowlock --db "sqlite:$$folder/demo.db" demo && echo && $(BUILD)/rowlock demo clones

# check proves every promise in 6 to 12 minutes; check-full runs everything. After a check, CI runs
# check-rest. With a PATTERN check runs everything that matches. tests/run describes the scopes.
NEEDS ?= check
check:
	@tools/install-packages $(NEEDS)
	@+$(MAKE) --no-print-directory $(all_processors) check-installed $(if $(WERROR)$(CI),WERROR=1)

check-full check-rest:
	@+$(MAKE) --no-print-directory check SCOPE=$(@:check-%=%) NEEDS=full

# The packages of clients/, with the drivers and frameworks of their languages. Each test waits
# until the packages that it needs are built, and starts many programs.
.PHONY: check-clients
check-clients:
	@+CLIENTS=1 LIMIT=1200 JOBS=$$(($$(getconf _NPROCESSORS_ONLN) * 3)) \
	  $(MAKE) --no-print-directory check NEEDS=clients SCOPE=full PATTERN='clients/*'

SCOPE ?= $(if $(PATTERN),full,quick)
# The shell leaves the patterns of PATTERN to tests/run.
run_tests = set -f; exec env BUILD='$(BUILD)' DRIVERS='$(strip $(DRIVERS))' SANITIZE='$(SANITIZE)' \
  CC='$(CC)' tests/run

check-installed: all examples test-programs
	@+$(MAKE) --no-print-directory bench-programs
	@$(run_tests) --$(SCOPE) $(PATTERN)

# The tests that use PostgreSQL, on each of its versions. Needs npm and a network, unless the
# versions are installed. VERSIONS='17 18' and PATTERN='leases/* sql/*' select; SCOPE=full
# runs all.
check-versions: VERSIONS ?= 15 16 17 18
.PHONY: check-versions
check-versions: all examples test-programs
	@set -f; exec env BUILD='$(BUILD)' CC='$(CC)' SCOPE=$(SCOPE) \
	  tests/versions $(VERSIONS) -- $(PATTERN)

# The tests of MariaDB on MySQL, whose server comes from Debian unstable, or from Ubuntu with
# VERSIONS='mysql-8.4 mysql-8.0'. SCOPE=quick, PATTERN as above.
.PHONY: check-mysql
check-mysql: all examples test-programs
	@set -f; exec env BUILD='$(BUILD)' CC='$(CC)' SCOPE=$(SCOPE) \
	  tests/versions $(or $(VERSIONS),mysql) -- $(PATTERN)

# The server of TiDB is built from the Go module proxy into $(BUILD)/tidb, once: 8 minutes of one
# core, and 4 GB for Go's caches. Then conformance, leases, sessions and cells of torture run on it.
# Needs Go 1.23.6 or later, and the mariadb client. PATTERN selects tests, CELL='lease/*' cells.
.PHONY: check-tidb
check-tidb: all test-programs torture-programs
	@set -f; exec env BUILD='$(BUILD)' SCOPE='$(if $(PATTERN),quick,$(SCOPE))' CELL='$(CELL)' \
	  tests/vendor/tidb $(PATTERN)

# SQL Server's dialect on Babelfish, over FreeTDS and Microsoft's JDBC driver. ENGINE and EXTENSIONS
# are copies of its two source trees, which tools/get-babelfish names; they are built into
# $(BUILD)/babelfish once, in 10 to 35 minutes of one core. Then it takes about 10 minutes.
.PHONY: check-babelfish
check-babelfish: all test-programs
	@[ -n '$(ENGINE)' ] && [ -n '$(EXTENSIONS)' ] || [ -x '$(BUILD)/babelfish/bin/postgres' ] || { \
	  sed -n '6,11s/^# \{0,1\}//p' tools/get-babelfish >&2; exit 64; }
	@$(if $(ENGINE),tools/get-babelfish '$(ENGINE)' '$(EXTENSIONS)' '$(BUILD)/babelfish')
	@set -f; exec env BUILD='$(BUILD)' tests/vendor/babelfish $(PATTERN)

# The checks, with their minutes.
.PHONY: help
help:
	@echo 'make                 the library and the command'
	@echo 'make check           the quick tests: 6 to 12 minutes (the Makefile lists all targets)'
	@echo 'Other checks, with their minutes on two processors, where they were timed:'
	@echo 'make check-rest      the other tests of .ci/run: 15 to 20'
	@echo 'make check-clients   the packages of other languages: 13 to 25'
	@echo 'make check-mysql     MySQL; with SCOPE=quick: 2 to 10'
	@echo 'make check-versions  PostgreSQL 15 to 18: about 20'
	@echo 'make check-site      the documents in a browser: 3'
	@echo 'make check-systemd   the units under systemd, as root: not timed'
	@echo 'make check-patroni   three servers of PostgreSQL under Patroni, as root: 60'
	@echo 'make check-group     MySQL Group Replication, three members, as root: 30'
	@echo 'make check-tidb      one node of TiDB: 20, and 8 or more to build it once'
	@echo 'make check-babelfish ENGINE=FOLDER EXTENSIONS=FOLDER'
	@echo "                     SQL Server's dialect: 10, and 10 to 35 to build the server once"

# For packagers: SQLite only, a few seconds, without root, network or servers. Needs libcmocka.
smoke: smoke-programs
	@$(run_tests) --smoke $(PATTERN)

# Before a test is compiled.
.PHONY: test-needs
test-needs:
	@tools/need bash pkg-config pkg:cmocka

# The library by POSIX.1-2008 alone, into a folder of its own. The command is still for Linux.
check-posix:
	@+$(MAKE) --no-print-directory SYSTEM=posix WERROR=1 all smoke

# The driver manager of ODBC is not linked, so that the tests load it as a program does.
TEST_PACKAGES := cmocka $(foreach d,$(filter-out odbc,$(DRIVERS)),$(package_$(d)))
TEST_CFLAGS = $(shell $(PKG_CONFIG) --cflags $(TEST_PACKAGES) 2>/dev/null) -Itests
TEST_LIBS = $(shell $(PKG_CONFIG) --libs $(TEST_PACKAGES) 2>/dev/null) $(LIBS)
# The library's pauses pass through the test harness first, which so sees a SQLite session wait.
# Optimized as a whole, the library would not call what --wrap puts in a function's place. So a
# library that CFLAGS compile with -flto needs -ffat-lto-objects too, as distributions have it.
TEST_LDFLAGS := -fno-lto -Wl,--wrap=rowlock__pause

# An engine's own file in tests/lib is compiled if its driver is.
ABSENT_DRIVERS := $(filter-out $(DRIVERS),$(ALL_DRIVERS))
TEST_LIB_SOURCES := $(filter-out $(ABSENT_DRIVERS:%=tests/lib/%%), $(wildcard tests/lib/*.c))
TEST_LIB_OBJECTS := $(TEST_LIB_SOURCES:%.c=$(BUILD)/obj/%.o)
# A driver's own test is tests/*/<driver>*.c.
TEST_SOURCES := $(foreach f,$(wildcard tests/unit/*_test.c tests/conformance/*.c \
                  tests/sessions/*.c tests/leases/*.c), \
                  $(if $(filter $(foreach d,$(ABSENT_DRIVERS),$(d)%),$(notdir $(f))),,$(f)))
TEST_PROGRAMS := $(TEST_SOURCES:%.c=$(BUILD)/%)

test-programs: $(TEST_PROGRAMS) client-schemas

SMOKE_PROGRAMS := $(filter $(BUILD)/tests/unit/% $(BUILD)/tests/conformance/%,$(TEST_PROGRAMS))
SMOKE_PROGRAMS := $(filter-out $(BUILD)/tests/unit/bench_% %/documents_test,$(SMOKE_PROGRAMS))
smoke-programs: all $(SMOKE_PROGRAMS)
	$(if $(filter sqlite,$(DRIVERS)),,$(error make smoke needs the driver sqlite))

$(BUILD)/obj/tests/%.o: tests/%.c Makefile tests/check.mk $(BUILD)/flags | test-needs
	@mkdir -p $(@D)
	$(call quiet,CC) $(CC) $(CPPFLAGS) $(CFLAGS) $(GNU) $(BASE_FLAGS) $(DRIVER_CFLAGS) $(TEST_CFLAGS) \
	  -MMD -MP -c $< -o $@

$(BUILD)/tests/libharness.a: $(TEST_LIB_OBJECTS)
	@mkdir -p $(@D)
	rm -f $@ && $(AR) rcs $@ $^

$(BUILD)/tests/%: $(BUILD)/obj/tests/%.o $(BUILD)/tests/libharness.a $(BUILD)/librowlock.a
	@mkdir -p $(@D)
	$(call quiet,LINK) $(CC) $(CFLAGS) $(SANFLAGS) $(LDFLAGS) $(TEST_LDFLAGS) -o $@ \
	  $(filter %.o,$^) -Wl,--start-group $(filter %.a,$^) -Wl,--end-group $(TEST_LIBS)

# A file beside a program lists its additional needs.
include $(wildcard tests/*/*.mk)

.PRECIOUS: $(BUILD)/obj/tests/%.o
-include $(TEST_LIB_OBJECTS:.o=.d) $(TEST_SOURCES:%.c=$(BUILD)/obj/%.d)
