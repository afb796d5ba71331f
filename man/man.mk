# SPDX-License-Identifier: Apache-2.0
# man/verbs/VERB.txt is the only source of the text about a verb. tools/verb-texts generates help,
# manual pages and completion from it. The Makefile includes this file first.

VERB_FILES := $(wildcard man/verbs/*.txt)
VERB_TEXTS := $(filter-out options%,$(notdir $(basename $(VERB_FILES))))
VERB_PAGES := $(patsubst %,$(BUILD)/man/rowlock-%.1,$(filter-out help,$(VERB_TEXTS)))

$(BUILD)/gen/verb_texts.c: tools/verb-texts $(VERB_FILES) | $(BUILD)/flags
	@mkdir -p $(@D)
	$(call quiet,TEXT) tools/verb-texts c > $@.tmp && mv $@.tmp $@

$(BUILD)/man/rowlock-%.1: man/verbs/%.txt tools/verb-texts $(VERB_FILES) | $(BUILD)/flags
	@mkdir -p $(@D)
	$(call quiet,TEXT) tools/verb-texts man $* > $@.tmp && mv $@.tmp $@

$(BUILD)/completion/rowlock: completion/rowlock.in tools/verb-texts $(VERB_FILES) | $(BUILD)/flags
	@mkdir -p $(@D)
	$(call quiet,TEXT) tools/verb-texts completion > $@.tmp && mv $@.tmp $@

$(BUILD)/completion/rowlock.%: completion/rowlock.%.in tools/verb-texts $(VERB_FILES) \
                               | $(BUILD)/flags
	@mkdir -p $(@D)
	$(call quiet,TEXT) tools/verb-texts $* > $@.tmp && mv $@.tmp $@

COMPLETIONS := $(BUILD)/completion/rowlock $(BUILD)/completion/rowlock.zsh \
               $(BUILD)/completion/rowlock.fish
all: $(VERB_PAGES) $(COMPLETIONS)
