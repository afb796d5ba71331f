# SPDX-License-Identifier: Apache-2.0
# Links the command's crontab parser into its unit test.
CRONTAB_PARTS := cron/crontab job/settings output/message run/times
$(BUILD)/tests/libcrontab.a: $(CRONTAB_PARTS:%=$(BUILD)/obj/src/command/%.o)
	@mkdir -p $(@D)
	rm -f $@ && $(AR) rcs $@ $^
$(BUILD)/tests/unit/crontab_test: $(BUILD)/tests/libcrontab.a
