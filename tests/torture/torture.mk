# SPDX-License-Identifier: Apache-2.0
# make torture: lock workloads under faults (tests/torture/run describes cells and variables).
#
#   make torture CELL='counter/kill/*' SECONDS=10
#   make torture-long        10,000 operations for each workload and engine, under mixed faults
#   make torture-mutations   mistakes in the product, each of which a cell must find
#   make check-patroni       the cells of a cluster of three servers, as root: 60 minutes
#   make check-group         the same: 30 minutes
#   make torture-publish     puts the results of the run into docs/internals/torture, torture.md

TORTURE_JUDGE := $(patsubst %,$(BUILD)/obj/tests/torture/%.o, \
                   history judge judge_calm judge_leases judge_undone judge_waits \
                   judge_work)
TORTURE_WORKER := $(patsubst tests/%.c,$(BUILD)/obj/tests/%.o,$(wildcard \
                    tests/torture/history.c tests/torture/worker.c tests/torture/workload_*.c))
TORTURE_PROGRAMS := $(BUILD)/tests/torture/worker $(BUILD)/tests/torture/judge \
                    $(BUILD)/tests/torture/cutter

$(BUILD)/tests/torture/worker: $(TORTURE_WORKER) $(BUILD)/tests/libharness.a \
    $(BUILD)/librowlock.a
	@mkdir -p $(@D)
	$(call quiet,LINK) $(CC) $(CFLAGS) $(SANFLAGS) $(LDFLAGS) $(TEST_LDFLAGS) -o $@ \
	  $(TORTURE_WORKER) -Wl,--start-group $(filter %.a,$^) -Wl,--end-group $(TEST_LIBS)

$(BUILD)/tests/torture/judge: $(BUILD)/obj/tests/torture/judge_main.o $(TORTURE_JUDGE)
	@mkdir -p $(@D)
	$(call quiet,LINK) $(CC) $(CFLAGS) $(SANFLAGS) $(LDFLAGS) -o $@ $^

$(BUILD)/tests/torture/cutter: $(BUILD)/obj/tests/torture/cutter.o $(BUILD)/obj/tests/lib/proxy.o
	@mkdir -p $(@D)
	$(call quiet,LINK) $(CC) $(CFLAGS) $(SANFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

# The judge, in its unit tests.
$(BUILD)/tests/libjudge.a: $(TORTURE_JUDGE)
	@mkdir -p $(@D)
	rm -f $@ && $(AR) rcs $@ $^
$(BUILD)/tests/unit/torture_calm_test $(BUILD)/tests/unit/torture_judge_test \
    $(BUILD)/tests/unit/torture_undone_test: $(BUILD)/tests/libjudge.a

test-programs: $(TORTURE_PROGRAMS)

.PHONY: torture torture-long torture-programs torture-mutations torture-publish
.PHONY: check-patroni check-group
torture-programs: $(TORTURE_PROGRAMS) $(BUILD)/rowlock $(BUILD)/next/rowlock $(BUILD)/next/worker
torture-long: CELL = */mixed/* names/kill/* refused/kill/* tokens/kill/*
torture-long: OPERATIONS = 10000
torture-long: PACE = 4
torture-long: RESUME = 1
check-patroni: CELL = fence/*/patroni-*
check-group: CELL = fence/*/group-*
check-patroni check-group: SECONDS = 100
check-patroni check-group: CLUSTERS = $(@:check-%=%)
check-patroni check-group: cluster-packages
cluster-packages:
	@tools/install-packages clusters
.PHONY: cluster-packages
torture torture-long check-patroni check-group: torture-programs
	@exec env BUILD='$(BUILD)' CELL='$(CELL)' SECONDS_EACH='$(SECONDS)' SEED='$(SEED)' \
	  CLIENTS='$(CLIENTS)' TTL='$(TTL)' PACE='$(PACE)' OPERATIONS='$(OPERATIONS)' RESUME='$(RESUME)' \
	  STALL='$(STALL)' SETTLE='$(SETTLE)' LANGUAGES='$(LANGUAGES)' \
	  CLUSTERS='$(CLUSTERS)' tests/torture/run

torture-mutations: torture-programs
	@exec env BUILD='$(BUILD)' MUTATION='$(MUTATION)' SECONDS_EACH='$(SECONDS)' \
	  SEED='$(SEED)' tests/torture/mutations/run

torture-publish:
	@exec env BUILD='$(BUILD)' tests/torture/publish

-include $(TORTURE_WORKER:.o=.d) $(TORTURE_JUDGE:.o=.d) \
  $(BUILD)/obj/tests/torture/judge_main.d $(BUILD)/obj/tests/torture/cutter.d
