# SPDX-License-Identifier: Apache-2.0
# Fuzz targets. `make fuzz` runs each for FUZZ_SECONDS under libFuzzer. The programs fuzz/<target>
# of the build folder run over the corpus only, with any compiler, as part of `make check`.

FUZZ_TARGETS := duration wants schedule tzif crontab $(if $(filter mariadb,$(DRIVERS)),mariadb_url)
FUZZ_SECONDS ?= 60
FUZZ_FLAGS = $(CFLAGS) $(GNU) $(BASE_FLAGS) $(DRIVER_CFLAGS) -Ifuzz

# Files of the command that a target needs.
FUZZ_PARTS_crontab := $(addprefix src/,run/cron/crontab.c run/job/settings.c \
                        run/supervise/times.c command/job_name.c command/output/message.c)

.PHONY: fuzz
fuzz: $(FUZZ_TARGETS:%=$(BUILD)/fuzz/libfuzzer/%)
	@set -e; for target in $(FUZZ_TARGETS); do \
	  mkdir -p $(BUILD)/fuzz/found/$$target; \
	  $(BUILD)/fuzz/libfuzzer/$$target -max_total_time=$(FUZZ_SECONDS) -max_len=1200 \
	    -artifact_prefix=$(BUILD)/fuzz/ $(BUILD)/fuzz/found/$$target fuzz/corpus/$$target; \
	done

$(BUILD)/fuzz/%: fuzz/%.c fuzz/main.c fuzz/fuzz.h $$(FUZZ_PARTS_$$*) $(BUILD)/librowlock.a
	@mkdir -p $(@D)
	$(CC) $(FUZZ_FLAGS) -o $@ $(filter %.c %.a,$^) $(LIBS)

# Everything, the library too, is compiled for the fuzzer, which is guided by coverage.
$(BUILD)/fuzz/libfuzzer/%: fuzz/%.c fuzz/fuzz.h $$(FUZZ_PARTS_$$*) $(LIB_SOURCES) $(GEN_SOURCES)
	@mkdir -p $(@D)
	clang -g -O1 $(GNU) $(BASE_FLAGS) $(DRIVER_CFLAGS) -Ifuzz -fsanitize=fuzzer,address,undefined \
	  -fno-sanitize-recover=all -o $@ $(filter %.c,$^) $(LIBS)

test-programs: $(FUZZ_TARGETS:%=$(BUILD)/fuzz/%)
