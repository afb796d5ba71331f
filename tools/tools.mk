# SPDX-License-Identifier: Apache-2.0
# make style: formatting, width, words, links, rooms, paths, home. Every check runs: one call shows
# all failures.

.PHONY: style style-format style-width style-words style-links style-rooms style-paths style-home
style:
	@$(MAKE) --no-print-directory -k style-format style-width style-words style-links \
	  style-rooms style-paths style-home

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

style-paths:
	$(call quiet,STYLE) tools/check-paths

style-home:
	$(call quiet,STYLE) tools/write-home --check

# After a change of packaging/home: the URLs, addresses and names of the packages.
.PHONY: home
home:
	@tools/write-home

# The pictures of docs/serve, of a farm that runs for three minutes; see tools/pictures.
.PHONY: pictures
pictures: all
	BUILD='$(BUILD)' tools/pictures
