# SPDX-License-Identifier: Apache-2.0
# Links the command's tree of holders and waiters into its unit test.
LOCK_TREE_PARTS := tree/lock_tree tree/tree_rows
$(BUILD)/tests/liblock_tree.a: $(LOCK_TREE_PARTS:%=$(BUILD)/obj/src/show/%.o)
	@mkdir -p $(@D)
	rm -f $@ && $(AR) rcs $@ $^
$(BUILD)/tests/unit/lock_tree_test: $(BUILD)/tests/liblock_tree.a
