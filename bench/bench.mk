# SPDX-License-Identifier: Apache-2.0
# The measurements; never part of make check. BENCH=postgresql|mariadb|leases|jobs|documents|start|idle for one.

BENCH ?=
BENCH_PROGRAMS := $(BUILD)/bench/start $(BUILD)/bench/handover $(BUILD)/bench/job \
                  $(foreach d,$(filter-out sqlite,$(DRIVERS)),$(BUILD)/bench/$(d) $(BUILD)/bench/lease_$(d))

.PHONY: bench
bench: all examples $(BENCH_PROGRAMS)
	@BUILD='$(BUILD)' bench/run $(BENCH)

client_of_postgresql := pq
client_of_mariadb := mariadb
$(BUILD)/bench/%: bench/%.c bench/rate.c bench/rate.h $(BUILD)/librowlock.a
	@mkdir -p $(@D)
	$(call quiet,CC) $(CC) $(CPPFLAGS) $(CFLAGS) $(BASE_FLAGS) $(DRIVER_CFLAGS) -o $@ $< bench/rate.c \
	  $(BUILD)/librowlock.a $(addprefix -l,$(client_of_$(*:lease_%=%))) $(LIBS)
