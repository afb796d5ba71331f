# SPDX-License-Identifier: Apache-2.0
# make client-schemas: what the packages of clients/ contain and install by: the texts of `schema
# print`, and the statements that name what an account lacks for it. They are built, never checked
# in. Included by the Makefile.

SCHEMA_FOLDERS := clients/python/src/rowlock/schema clients/node/schema clients/go/schema \
                  clients/java/jdbc/src/main/resources/rowlock/jdbc/schema
CLIENT_SCHEMAS := $(foreach f,$(SCHEMA_FOLDERS),$(foreach d,postgresql mariadb mysql,$(f)/$(d).sql))
CLIENT_NEEDS := $(CLIENT_SCHEMAS:.sql=-needs.sql)

.PHONY: client-schemas
client-schemas: $(CLIENT_SCHEMAS) $(CLIENT_NEEDS)

$(CLIENT_SCHEMAS): $(BUILD)/rowlock
	@mkdir -p $(@D)
	$(call quiet,SQL) $(BUILD)/rowlock schema print $(basename $(@F)) > $@.new && mv $@.new $@

# Without comments, and with 0 for its only parameter: the packages install the default technique.
$(CLIENT_NEEDS): $(wildcard sql/*/install_needs.sql)
	@mkdir -p $(@D)
	$(call quiet,SQL) sed -e '/^--/d' -e 's/[$$]1::integer/0/; s/?/0/; s/;$$//' \
	    sql/$(@F:-needs.sql=)/install_needs.sql > $@.new && mv $@.new $@
