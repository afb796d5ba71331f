# SPDX-License-Identifier: Apache-2.0
# make style: formatting, width, words, links, rooms. Every check runs: one call shows all failures.

.PHONY: style style-format style-width style-words style-links style-rooms
style:
	@$(MAKE) --no-print-directory -k style-format style-width style-words style-links \
	  style-rooms

style-format:
	$(call quiet,STYLE) BUILD='$(BUILD)' tools/check-format

style-width:
	$(call quiet,STYLE) tools/check-width

style-words:
	$(call quiet,STYLE) tools/check-words

style-links:
	$(call quiet,STYLE) tools/check-links

style-rooms:
	$(call quiet,STYLE) tools/check-rooms

# The pictures of docs/serve, of a farm that runs for three minutes; see tools/pictures.
.PHONY: pictures
pictures: all
	BUILD='$(BUILD)' tools/pictures
