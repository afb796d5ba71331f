# SPDX-License-Identifier: Apache-2.0
# Links the parts of the document loader that need no database into their unit test.
DOCUMENTS_PARTS := document timestamp generate sort
$(BUILD)/tests/libdocuments.a: $(DOCUMENTS_PARTS:%=$(BUILD)/obj/examples/documents/%.o)
	@mkdir -p $(@D)
	rm -f $@ && $(AR) rcs $@ $^
$(BUILD)/tests/unit/documents_test: $(BUILD)/tests/libdocuments.a
$(BUILD)/tests/unit/documents_test: TEST_LIBS += $(EXPAT)
