# SPDX-License-Identifier: Apache-2.0
# Links run_times.c, a part of the command and of no library, into its unit test.
$(BUILD)/tests/unit/run_times_test: TEST_LDFLAGS += $(BUILD)/obj/src/command/run_times.o
$(BUILD)/tests/unit/run_times_test: $(BUILD)/obj/src/command/run_times.o
