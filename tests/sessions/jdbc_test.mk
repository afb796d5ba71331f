# SPDX-License-Identifier: Apache-2.0
# The transport is tested alone: without the SQL of the plain dialects.
$(BUILD)/tests/sessions/jdbc_test $(BUILD)/tests/sessions/jdbc_process_test: \
  TEST_LDFLAGS += -Wl,--wrap=rowlock__plain_dialect
