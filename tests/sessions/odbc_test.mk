# SPDX-License-Identifier: Apache-2.0
# The driver gets an empty dialect, of tests/lib/odbc.c.
$(BUILD)/tests/sessions/odbc%test: TEST_LDFLAGS += -Wl,--wrap=rowlock__plain_dialect
