# SPDX-License-Identifier: Apache-2.0
# The examples: build/examples/documents and one program for each .c file beside this one. They see
# the public headers only, and link build/librowlock.a and the client libraries directly; an example
# whose client library (or expat) is missing is left out, with a note.

EXPAT      := $(if $(call have,expat),$(shell $(PKG_CONFIG) --libs expat),$(shell \
                echo 'int main(void) { return 0; }' | $(CC) -include expat.h -x c - -lexpat \
                -o /dev/null 2>/dev/null && echo -lexpat))
CLIENT_LIBS := $(foreach d,$(DRIVERS),$(shell $(PKG_CONFIG) --libs $(package_$(d)) 2>/dev/null))

# The examples have an application's own session of these.
CLIENT_DRIVERS := $(filter-out odbc jdbc,$(DRIVERS))
EXAMPLE_NAMES := two_locks own_lease request $(CLIENT_DRIVERS:%=lock_%)
EXAMPLES   := $(EXAMPLE_NAMES:%=$(BUILD)/examples/%) $(if $(EXPAT),$(BUILD)/examples/documents)
EXAMPLE_FLAGS := -std=c11 -D_GNU_SOURCE -Iinclude $(WARNINGS) $(SANFLAGS) \
                 $(DRIVER_CFLAGS)

DOCUMENTS_SOURCES := $(filter-out examples/documents/store_%,$(wildcard examples/documents/*.c)) \
                     $(CLIENT_DRIVERS:%=examples/documents/store_%.c)
DOCUMENTS_OBJECTS := $(DOCUMENTS_SOURCES:%.c=$(BUILD)/obj/%.o)

.PHONY: examples
examples: $(EXAMPLES)
	@echo "examples: $(notdir $(EXAMPLES))$(if $(EXPAT),,; left out: documents (no expat))"

$(BUILD)/obj/examples/%.o: examples/%.c Makefile examples/examples.mk $(BUILD)/flags
	@mkdir -p $(@D)
	$(call quiet,CC) $(CC) $(CPPFLAGS) $(CFLAGS) $(EXAMPLE_FLAGS) -MMD -MP -c $< -o $@

$(BUILD)/examples/documents: $(DOCUMENTS_OBJECTS) $(BUILD)/librowlock.a
	@mkdir -p $(@D)
	$(call quiet,LINK) $(CC) $(CFLAGS) $(SANFLAGS) $(LDFLAGS) -o $@ $^ $(EXPAT) $(CLIENT_LIBS) $(LIBS)

$(BUILD)/examples/%: $(BUILD)/obj/examples/%.o $(BUILD)/librowlock.a
	@mkdir -p $(@D)
	$(call quiet,LINK) $(CC) $(CFLAGS) $(SANFLAGS) $(LDFLAGS) -o $@ $^ $(CLIENT_LIBS) $(LIBS)

.PRECIOUS: $(BUILD)/obj/examples/%.o
-include $(DOCUMENTS_OBJECTS:.o=.d) $(EXAMPLE_NAMES:%=$(BUILD)/obj/examples/%.d)

# The tests run them.
test-programs: examples
