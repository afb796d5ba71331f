# SPDX-License-Identifier: Apache-2.0
# Links the benchmark's harness, without any peer, into its unit tests, which bring peers of their
# own.
$(BUILD)/tests/libbench.a: $$(BENCH_TESTED)
	@mkdir -p $(@D)
	rm -f $@ && $(AR) rcs $@ $^
BENCH_TESTS := $(addprefix $(BUILD)/tests/unit/,bench_numbers_test bench_run_test bench_report_test)
$(BENCH_TESTS): $(BUILD)/tests/libbench.a
$(BENCH_TESTS): TEST_LIBS += -ljansson -lm
$(BENCH_TESTS:$(BUILD)/%=$(BUILD)/obj/%.o): TEST_CFLAGS += -Ibench
