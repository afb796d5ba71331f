# SPDX-License-Identifier: Apache-2.0
# The linker sends the library's calls to its driver and to malloc through the test.
$(BUILD)/tests/sessions/fault_sweep_test: TEST_LDFLAGS += -Wl,--wrap=rowlock__driver_for_url \
  -Wl,--wrap=rowlock__driver_named -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=strdup
