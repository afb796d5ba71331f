# SPDX-License-Identifier: Apache-2.0
# A part of the command, which is in no library.
$(BUILD)/tests/unit/run_times_test: TEST_LDFLAGS += $(BUILD)/obj/src/command/run/times.o
$(BUILD)/tests/unit/run_times_test: $(BUILD)/obj/src/command/run/times.o
