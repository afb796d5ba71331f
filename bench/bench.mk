# SPDX-License-Identifier: Apache-2.0
# The targets of the measurements, which are never part of make check.
#
#   make bench           compares rowlock with the usual alternatives (bench/run): writes
#                        build/bench.json, build/bench.md, plots
#     BENCH_PEERS="postgres-advisory etcd" BENCH_SECONDS=1    measures less; bench/run lists all
#                        variables
#   make bench-quick     every workload with the most important peers, for use during development
#   make bench-parts     compares single parts with the same by hand (bench/parts/run)
#     BENCH=postgresql|door|mariadb|leases|jobs|names|documents|transport|start|idle
#     BENCH=scale      how far one PostgreSQL carries a farm: waiters, leases, processes of cron
#     BENCH=pools      others of a pool, and hand-overs, while the packages wait for leases
#     BENCH=clients    the packages of clients/: needs the languages' compilers and registries

.PHONY: bench bench-quick bench-installed bench-parts bench-publish
bench-quick: export BENCH_SECONDS = 1
bench-quick: export BENCH_REPETITIONS = 3
bench-quick: export BENCH_PEERS = rowlock-mariadb-lease etcd zookeeper redis-always \
               postgres-update-lazy postgres-advisory-xact postgres-no-lock mariadb-get-lock \
               mariadb-no-lock sqlite-no-lock flock
bench-quick: export BENCH_WORKLOADS = uncontended-1 uncontended-8 uncontended-32 names hot \
               handover takeover process crowd documents
bench bench-quick:
	@tools/install-packages bench || echo "bench: continues without the missing packages" >&2
	@+$(MAKE) --no-print-directory \
	  $(if $(filter -j%,$(MAKEFLAGS)),,-j$(shell getconf _NPROCESSORS_ONLN)) bench-installed

# A peer is compiled in if its client library is installed; the benchmark reports the others as
# absent.
BENCH_TRY = $(shell echo 'int main(void) { return 0; }' | \
              $(CC) $(1) -x c - -o /dev/null $(2) 2>/dev/null && echo yes)
# Evaluated when first needed, and once.
BENCH_REDIS     = $(eval BENCH_REDIS := $(call have,hiredis))$(BENCH_REDIS)
BENCH_ETCD      = $(eval BENCH_ETCD := $(call have,libcurl))$(BENCH_ETCD)
BENCH_ZOOKEEPER = $(eval BENCH_ZOOKEEPER := $(call \
                    BENCH_TRY,-include zookeeper/zookeeper.h,-lzookeeper_mt))$(BENCH_ZOOKEEPER)

bench_flags = $(DRIVER_CFLAGS) -Ibench \
              $(if $(BENCH_REDIS),-DBENCH_WITH_REDIS $(shell $(PKG_CONFIG) --cflags hiredis)) \
              $(if $(BENCH_ETCD),-DBENCH_WITH_ETCD) $(if $(BENCH_ZOOKEEPER),-DBENCH_WITH_ZOOKEEPER)
bench_libs  = -ljansson -lm $(CLIENT_LIBS) \
              $(if $(BENCH_REDIS),$(shell $(PKG_CONFIG) --libs hiredis)) \
              $(if $(BENCH_ETCD),$(shell $(PKG_CONFIG) --libs libcurl)) \
              $(if $(BENCH_ZOOKEEPER),-lzookeeper_mt) $(LIBS)

# The harness contains no peer, and is tested without any (tests/unit/unit.mk).
BENCH_HARNESS := overlap statistics crew cpu result run \
                 $(patsubst bench/%.c,%,$(wildcard bench/workloads/*.c))
BENCH_TESTED := $(patsubst %,$(BUILD)/obj/bench/%.o,$(BENCH_HARNESS) report_page report_markdown \
                  report_data report_plots peers/protobuf)
BENCH_PEER_FILES = list rowlock flock $(filter $(DRIVERS),postgresql mariadb) \
                   $(if $(BENCH_REDIS),redis) \
                   $(if $(BENCH_ETCD),etcd protobuf) $(if $(BENCH_ZOOKEEPER),zookeeper)
BENCH_OBJECTS = $(patsubst %,$(BUILD)/obj/bench/%.o,$(BENCH_HARNESS) main \
                  $(addprefix peers/,$(BENCH_PEER_FILES)))

bench-installed: bench-programs
	@exec env BUILD='$(BUILD)' bench/run

.PHONY: bench-programs
bench-programs: all examples
	@+$(MAKE) --no-print-directory $(BUILD)/bench/bench $(BUILD)/bench/report

$(BUILD)/obj/bench/%.o: bench/%.c Makefile bench/bench.mk $(BUILD)/flags
	@mkdir -p $(@D)
	$(call quiet,CC) $(CC) $(CPPFLAGS) $(CFLAGS) $(GNU) $(BASE_FLAGS) $(bench_flags) -MMD -MP \
	  -c $< -o $@

# The installed client libraries decide which peers are linked.
$(BUILD)/bench/clients: FORCE
	@mkdir -p $(@D)
	@echo '$(bench_flags)' | cmp -s - $@ || echo '$(bench_flags)' > $@
$(BUILD)/obj/bench/peers/list.o: $(BUILD)/bench/clients

$(BUILD)/bench/bench: $$(BENCH_OBJECTS) $(BUILD)/librowlock.a
	@mkdir -p $(@D)
	$(call quiet,LINK) $(CC) $(CFLAGS) $(SANFLAGS) $(LDFLAGS) -o $@ $^ $(bench_libs)

BENCH_REPORT := $(patsubst %,$(BUILD)/obj/bench/%.o,report report_page report_markdown report_data \
                  report_plots)
$(BUILD)/bench/report: $(BENCH_REPORT)
	@mkdir -p $(@D)
	$(call quiet,LINK) $(CC) $(CFLAGS) $(SANFLAGS) $(LDFLAGS) -o $@ $^ -ljansson -lm

-include $(wildcard $(BUILD)/obj/bench/*.d $(BUILD)/obj/bench/*/*.d)

# Puts the results of the run into the generated parts of docs/internals/benchmarks.md, and all
# numbers into docs/internals/benchmarks.
bench-publish: $(BUILD)/bench.md
	@! grep -q '"quick": true' $(BUILD)/bench.json || \
	  { echo "bench: a short run is not published" >&2; exit 1; }
	@mkdir -p docs/internals/benchmarks
	@cp $(BUILD)/bench/*.svg $(BUILD)/bench/*.tsv docs/internals/benchmarks/
	@sed -i -e '/^<!-- page -->$$/,/^<!-- end of page -->$$/d' \
	   -e '/^<!-- generated -->$$/,$$d' docs/internals/benchmarks.md
	@{ sed 1q docs/internals/benchmarks.md; echo; echo '<!-- page -->'; echo; \
	   sed -e '/^<!-- tables -->$$/,$$d' -e 's#](bench/#](benchmarks/#' $(BUILD)/bench.md | \
	   fold -s -w 100 | sed 's/ *$$//'; \
	   echo "<!-- end of page -->"; sed 1d docs/internals/benchmarks.md | cat -s; \
	   echo '<!-- generated -->'; echo; \
	   for plot in throughput contended handover; do echo "![$$plot](benchmarks/$$plot.svg)"; done; \
	   sed '1,/^<!-- tables -->$$/d' $(BUILD)/bench.md; } > $(BUILD)/benchmarks.md
	@mv $(BUILD)/benchmarks.md docs/internals/benchmarks.md

# ---- parts of rowlock ------------------------------------------------------------------------

BENCH ?=
BENCH_PARTS := $(addprefix $(BUILD)/bench/parts/,start handover scale job names history \
                 $(foreach d,$(filter-out sqlite odbc jdbc,$(DRIVERS)),$(d) lease_$(d)) \
                 $(if $(filter odbc,$(DRIVERS)),$(if $(filter jdbc,$(DRIVERS)),transport)))

bench-parts: all examples $(BENCH_PARTS)
	@if command -v javac >/dev/null; then \
	   javac -nowarn --release 8 -d $(BUILD)/bench/parts bench/parts/ByHand.java 2>/dev/null; fi
	@BUILD='$(BUILD)' bench/parts/run $(BENCH)

client_of_postgresql := pq
client_of_mariadb := mariadb
$(BUILD)/bench/parts/%: bench/parts/%.c bench/parts/rate.c bench/parts/rate.h $(BUILD)/librowlock.a
	@mkdir -p $(@D)
	$(call quiet,CC) $(CC) $(CPPFLAGS) $(CFLAGS) $(GNU) $(BASE_FLAGS) $(DRIVER_CFLAGS) -o $@ $< \
	  bench/parts/rate.c \
	  $(BUILD)/librowlock.a $(addprefix -l,$(client_of_$(*:lease_%=%))) $(LIBS)
