# SPDX-License-Identifier: Apache-2.0
# The library's way to its driver, and to memory, goes by the test.
$(BUILD)/tests/sessions/fault_sweep_test: TEST_LDFLAGS += -Wl,--wrap=rowlock__driver_for_url \
  -Wl,--wrap=rowlock__driver_named -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=strdup
