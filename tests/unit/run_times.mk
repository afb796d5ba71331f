# SPDX-License-Identifier: Apache-2.0
# Links a file of the command, which is in no library, into its unit test.
$(BUILD)/tests/unit/run_times_test: TEST_LDFLAGS += $(BUILD)/obj/src/run/supervise/times.o
$(BUILD)/tests/unit/run_times_test: $(BUILD)/obj/src/run/supervise/times.o
