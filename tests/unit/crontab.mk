# SPDX-License-Identifier: Apache-2.0
# Links the command's crontab parser into its unit test.
CRONTAB_PARTS := run/cron/crontab run/job/settings run/supervise/times command/job_name \
	command/output/message
$(BUILD)/tests/libcrontab.a: $(CRONTAB_PARTS:%=$(BUILD)/obj/src/%.o)
	@mkdir -p $(@D)
	rm -f $@ && $(AR) rcs $@ $^
$(BUILD)/tests/unit/crontab_test: $(BUILD)/tests/libcrontab.a
