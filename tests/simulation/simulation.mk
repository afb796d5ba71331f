# SPDX-License-Identifier: Apache-2.0
# The simulation: one program of several files, with a harness of its own instead of tests/lib.
# `make soak SEED=7 HISTORIES=5000000`; SEED=7 HISTORIES=1 prints one story; WRONG=1 simulates a
# mistake; KIND=jobs simulates farms and their jobs; KIND=tables a database without functions;
# KIND=functions one with functions. `make simulation HISTORIES=1000000 SEED=1` runs all kinds, and
# prints the count of histories and violations (tests/simulation/run).

ifneq ($(filter sqlite,$(DRIVERS)),)

SIMULATION_SOURCES := $(wildcard tests/simulation/*.c)
SIMULATION_OBJECTS := $(SIMULATION_SOURCES:%.c=$(BUILD)/obj/%.o)
SIMULATION := $(BUILD)/tests/simulation/simulation
SIMULATION_SEAMS := rowlock__now_ms rowlock__dice rowlock__pause rowlock__wait_fd \
  rowlock__driver_for_url rowlock__execute rowlock__acquire_start rowlock__acquire_next \
  rowlock__lease_renewed \
  rowlock__job_decide rowlock__judge_leases rowlock__judge_queue rowlock__judge_run_end \
  rowlock__emulate_release

$(SIMULATION): $(SIMULATION_OBJECTS) $(BUILD)/tests/libjudge.a $(BUILD)/librowlock.a
	@mkdir -p $(@D)
	$(call quiet,LINK) $(CC) $(CFLAGS) $(SANFLAGS) $(LDFLAGS) $(TEST_LDFLAGS) \
	  $(SIMULATION_SEAMS:%=-Wl,--wrap=%) -o $@ $^ \
	  $(shell $(PKG_CONFIG) --libs sqlite3) $(LIBS)

test-programs: $(SIMULATION)

.PHONY: soak simulation
simulation: $(SIMULATION)
	@SEED='$(SEED)' HISTORIES='$(HISTORIES)' JOBS='$(JOBS)' SIMULATION='$(SIMULATION)' \
	  tests/simulation/run
soak: $(SIMULATION)
	@SEED='$(SEED)' KIND='$(KIND)' HISTORIES='$(HISTORIES)' WRONG='$(WRONG)' $(SIMULATION) soak

-include $(SIMULATION_OBJECTS:.o=.d)

endif
