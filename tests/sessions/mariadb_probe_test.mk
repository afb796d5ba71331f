# SPDX-License-Identifier: Apache-2.0
# The linker sends the library's calls to its driver through the test.
$(BUILD)/tests/sessions/mariadb_probe_test: TEST_LDFLAGS += -Wl,--wrap=rowlock__driver_for_url
