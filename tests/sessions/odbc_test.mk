# SPDX-License-Identifier: Apache-2.0
# The driver needs no SQL of locks here: the test gives it an empty dialect.
$(BUILD)/tests/sessions/odbc_test: TEST_LDFLAGS += -Wl,--wrap=rowlock__plain_dialect
