# SPDX-License-Identifier: Apache-2.0
# The library's way to its driver goes by the test.
$(BUILD)/tests/sessions/mariadb_probe_test: TEST_LDFLAGS += -Wl,--wrap=rowlock__driver_for_url
