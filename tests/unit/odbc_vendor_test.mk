# SPDX-License-Identifier: Apache-2.0
# The driver gets an empty dialect, of tests/lib/odbc.c. The driver manager loads the test's own
# ODBC driver.
$(BUILD)/tests/unit/odbc_vendor_test: TEST_LDFLAGS += -Wl,--wrap=rowlock__plain_dialect
$(BUILD)/tests/unit/odbc_vendor_test: | $(BUILD)/tests/fake_odbc.so

$(BUILD)/tests/fake_odbc.so: tests/lib/fake/odbc.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call quiet,LINK) $(CC) $(CFLAGS) $(GNU) $(BASE_FLAGS) $(DRIVER_CFLAGS) -fPIC -shared -o $@ $<
