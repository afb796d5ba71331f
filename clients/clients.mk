# SPDX-License-Identifier: Apache-2.0
# make client-schemas: the texts of `schema print`, which the packages of clients/ contain and
# install by. They are built, never checked in. Included by the Makefile.

SCHEMA_FOLDERS := clients/python/src/rowlock/schema clients/node/schema clients/go/schema \
                  clients/java/jdbc/src/main/resources/rowlock/jdbc/schema
CLIENT_SCHEMAS := $(foreach f,$(SCHEMA_FOLDERS),$(foreach d,postgresql mariadb mysql,$(f)/$(d).sql))

.PHONY: client-schemas
client-schemas: $(CLIENT_SCHEMAS)

$(CLIENT_SCHEMAS): $(BUILD)/rowlock
	@mkdir -p $(@D)
	$(call quiet,SQL) $(BUILD)/rowlock schema print $(basename $(@F)) > $@.new && mv $@.new $@
