# SPDX-License-Identifier: Apache-2.0
# Links the line that explains a wait, which is the command's, into its unit test.
WAITING_TEXT_PARTS := run/supervise/waiting_text \
	$(addprefix command/output/,words table width message standard)
$(BUILD)/tests/libwaiting_text.a: $(WAITING_TEXT_PARTS:%=$(BUILD)/obj/src/%.o)
	@mkdir -p $(@D)
	rm -f $@ && $(AR) rcs $@ $^
$(BUILD)/tests/unit/waiting_text_test: $(BUILD)/tests/libwaiting_text.a
