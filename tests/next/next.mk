# SPDX-License-Identifier: Apache-2.0
# The command and torture's worker with the next version of the schema, which only tests have: the
# product's objects, except the SQL of these engines and the files that know the version.
NEXT          := $(BUILD)/next
NEXT_DIALECTS := postgresql mariadb mysql sqlite
NEXT_SOURCES  := $(shell grep -l ROWLOCK_SCHEMA_VERSION src/*/*.c)
NEXT_OBJECTS  := $(NEXT_DIALECTS:%=$(NEXT)/obj/dialect_%.o) $(NEXT_SOURCES:src/%.c=$(NEXT)/obj/%.o)
NEXT_FLAGS    := -I$(NEXT)/tree/src

$(NEXT)/changed: tests/next/change \
    $(wildcard tests/next/sql/*/*.sql tests/next/sql/*/schema/*.sql) \
    $(foreach d,shared plain mariadb mysql postgresql sqlite,$(call sql_of,$(d))) \
    tools/embed-sql tools/derive-schema $(wildcard src/dialect/*) src/session/connection.h
	tests/next/change $(NEXT)/tree && touch $@

$(NEXT)/gen/dialect_%.c: $(NEXT)/changed
	@mkdir -p $(@D)
	$(call quiet,SQL) $(NEXT)/tree/tools/embed-sql $* $(procedural_$*) $(base_$*) > $@.tmp && \
	  mv $@.tmp $@

$(NEXT)/obj/dialect_%.o: $(NEXT)/gen/dialect_%.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call quiet,CC) $(CC) $(CPPFLAGS) $(CFLAGS) $(POSIX) $(NEXT_FLAGS) $(LIB_FLAGS) -c $< -o $@

$(NEXT)/obj/%.o: src/%.c $(NEXT)/changed $(BUILD)/obj/src/%.o
	@mkdir -p $(@D)
	$(call quiet,CC) $(CC) $(CPPFLAGS) $(CFLAGS) $(POSIX) $(NEXT_FLAGS) $(LIB_FLAGS) -c $< -o $@

# The archive's own versions of these objects are not linked.
$(NEXT)/rowlock: $(NEXT_OBJECTS) $(CMD_OBJECTS) $(BUILD)/librowlock.a
	$(call quiet,LINK) $(CC) $(CFLAGS) $(SANFLAGS) $(LDFLAGS) -Wl,-z,now -o $@ $^ $(LIBS)

$(NEXT)/worker: $(NEXT_OBJECTS) $(TORTURE_WORKER) $(BUILD)/tests/libharness.a $(BUILD)/librowlock.a
	$(call quiet,LINK) $(CC) $(CFLAGS) $(SANFLAGS) $(LDFLAGS) $(TEST_LDFLAGS) -o $@ \
	  $(filter %.o,$^) -Wl,--start-group $(filter %.a,$^) -Wl,--end-group $(TEST_LIBS)

.SECONDARY: $(NEXT_DIALECTS:%=$(NEXT)/gen/dialect_%.c)
test-programs: $(NEXT)/rowlock $(NEXT)/worker
