# SPDX-License-Identifier: Apache-2.0
# make install, make uninstall: DESTDIR, PREFIX and the folders below it. Included by the Makefile.
# make install-extension, make uninstall-extension: DESTDIR and PG_CONFIG, the pg_config of the
# server.

INSTALL    ?= install
DATADIR    ?= $(PREFIX)/share
PKGCONFDIR ?= $(LIBDIR)/pkgconfig
COMPDIR    ?= $(DATADIR)/bash-completion/completions
ZSHDIR     ?= $(DATADIR)/zsh/site-functions
FISHDIR    ?= $(DATADIR)/fish/vendor_completions.d
DOCDIR     ?= $(DATADIR)/doc/rowlock
CLIENT_PAGES := $(patsubst %,clients/%/README.md,go go/schedulers java java/spring node python)
# systemd searches /usr/local/lib/systemd/system, and the folder that its pkg-config file names.
unitdir    ?= $(if $(filter /usr,$(PREFIX)),$(or $(shell $(PKG_CONFIG) \
                --variable=systemdsystemunitdir systemd 2>/dev/null),/usr/lib/systemd/system),$\
                $(PREFIX)/lib/systemd/system)

# docs/ stays a folder there, because the README links to it.
DOCUMENTS = LICENSE $(wildcard README.md CHANGELOG.md SECURITY.md)

$(BUILD)/rowlock.pc: rowlock.pc.in Makefile install.mk FORCE
	@mkdir -p $(@D)
	sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@INCDIR@|$(INCDIR)|' -e 's|@LIBDIR@|$(LIBDIR)|' \
	  -e 's|@VERSION@|$(VERSION)|' $< > $@

UNITS := $(patsubst packaging/systemd/%.in,$(BUILD)/systemd/%,$(wildcard packaging/systemd/*.in))

$(BUILD)/systemd/%: packaging/systemd/%.in install.mk FORCE
	@mkdir -p $(@D)
	sed 's|@BINDIR@|$(BINDIR)|' '$<' > '$@'

.PHONY: FORCE install uninstall
FORCE:

install: all $(BUILD)/rowlock.pc $(UNITS)
	$(INSTALL) -d '$(DESTDIR)$(BINDIR)' '$(DESTDIR)$(LIBDIR)' '$(DESTDIR)$(INCDIR)/rowlock' \
	  '$(DESTDIR)$(MANDIR)/man1' '$(DESTDIR)$(PKGCONFDIR)' '$(DESTDIR)$(COMPDIR)' \
	  '$(DESTDIR)$(ZSHDIR)' '$(DESTDIR)$(FISHDIR)' '$(DESTDIR)$(DOCDIR)/docs' '$(DESTDIR)$(unitdir)'
	$(INSTALL) -m 755 $(BUILD)/rowlock '$(DESTDIR)$(BINDIR)/rowlock'
	$(INSTALL) -m 644 $(BUILD)/librowlock.a '$(DESTDIR)$(LIBDIR)/librowlock.a'
	$(INSTALL) -m 755 $(BUILD)/librowlock.so.$(ABI) '$(DESTDIR)$(LIBDIR)/librowlock.so.$(ABI)'
	ln -sf librowlock.so.$(ABI) '$(DESTDIR)$(LIBDIR)/librowlock.so'
	$(INSTALL) -m 644 include/rowlock.h '$(DESTDIR)$(INCDIR)/rowlock.h'
	$(INSTALL) -m 644 include/rowlock/*.h '$(DESTDIR)$(INCDIR)/rowlock/'
	$(INSTALL) -m 644 $(BUILD)/rowlock.pc '$(DESTDIR)$(PKGCONFDIR)/rowlock.pc'
	$(INSTALL) -m 644 man/rowlock.1 $(VERB_PAGES) '$(DESTDIR)$(MANDIR)/man1/'
	$(INSTALL) -m 644 $(BUILD)/completion/rowlock '$(DESTDIR)$(COMPDIR)/rowlock'
	$(INSTALL) -m 644 $(BUILD)/completion/rowlock.zsh '$(DESTDIR)$(ZSHDIR)/_rowlock'
	$(INSTALL) -m 644 $(BUILD)/completion/rowlock.fish '$(DESTDIR)$(FISHDIR)/rowlock.fish'
	$(INSTALL) -m 644 $(UNITS:%='%') '$(DESTDIR)$(unitdir)/'
	$(INSTALL) -m 644 $(DOCUMENTS) '$(DESTDIR)$(DOCDIR)/'
	$(INSTALL) -m 644 $(wildcard docs/*.md docs/*.svg) '$(DESTDIR)$(DOCDIR)/docs/'
	$(INSTALL) -d $(CLIENT_PAGES:%/README.md='$(DESTDIR)$(DOCDIR)/%')
	@for page in $(CLIENT_PAGES); do \
	  $(INSTALL) -m 644 $$page '$(DESTDIR)$(DOCDIR)'/$$page; done
	$(INSTALL) -d '$(DESTDIR)$(DOCDIR)/docs/coming-from'
	$(INSTALL) -m 644 $(wildcard docs/coming-from/*.md) '$(DESTDIR)$(DOCDIR)/docs/coming-from/'
	$(INSTALL) -d '$(DESTDIR)$(DOCDIR)/docs/internals/torture'
	$(INSTALL) -m 644 $(wildcard docs/internals/*.md) '$(DESTDIR)$(DOCDIR)/docs/internals/'
	$(INSTALL) -m 644 $(wildcard docs/internals/torture/*.tsv) \
	  '$(DESTDIR)$(DOCDIR)/docs/internals/torture/'
	$(INSTALL) -d '$(DESTDIR)$(DOCDIR)/examples/monitoring'
	$(INSTALL) -m 644 $(wildcard examples/monitoring/*) \
	  '$(DESTDIR)$(DOCDIR)/examples/monitoring/'
	$(INSTALL) -d '$(DESTDIR)$(DOCDIR)/examples/kubernetes'
	$(INSTALL) -m 644 $(wildcard examples/kubernetes/*) \
	  '$(DESTDIR)$(DOCDIR)/examples/kubernetes/'
	$(INSTALL) -d '$(DESTDIR)$(DOCDIR)/docs/serve'
	$(INSTALL) -m 644 $(wildcard docs/serve/*.png) '$(DESTDIR)$(DOCDIR)/docs/serve/'
	$(INSTALL) -d '$(DESTDIR)$(DOCDIR)/docs/internals/benchmarks'
	$(INSTALL) -m 644 $(wildcard docs/internals/benchmarks/*.svg docs/internals/benchmarks/*.tsv) \
	  '$(DESTDIR)$(DOCDIR)/docs/internals/benchmarks/'
	@[ -n '$(DESTDIR)' ] || $(PKG_CONFIG) --exists rowlock 2>/dev/null || \
	  echo 'pkg-config does not look there: export PKG_CONFIG_PATH=$(PKGCONFDIR)'

uninstall:
	rm -f '$(DESTDIR)$(BINDIR)/rowlock' '$(DESTDIR)$(LIBDIR)'/librowlock.a \
	  '$(DESTDIR)$(LIBDIR)'/librowlock.so '$(DESTDIR)$(LIBDIR)/librowlock.so.$(ABI)' \
	  '$(DESTDIR)$(INCDIR)/rowlock.h' '$(DESTDIR)$(PKGCONFDIR)/rowlock.pc' \
	  '$(DESTDIR)$(MANDIR)/man1/rowlock.1' '$(DESTDIR)$(COMPDIR)/rowlock' \
	  '$(DESTDIR)$(ZSHDIR)/_rowlock' '$(DESTDIR)$(FISHDIR)/rowlock.fish' \
	  $(VERB_PAGES:$(BUILD)/man/%='$(DESTDIR)$(MANDIR)/man1/%') \
	  $(UNITS:$(BUILD)/systemd/%='$(DESTDIR)$(unitdir)/%')
	rm -rf '$(DESTDIR)$(INCDIR)/rowlock' '$(DESTDIR)$(DOCDIR)'

# ---- the PostgreSQL extension ------------------------------------------------------------------

PG_CONFIG ?= pg_config
EXTENSION_BUILD ?= $(BUILD)/extension
PGXS = $(shell $(PG_CONFIG) --pgxs 2>/dev/null)
SCHEMA_VERSION := $(shell sed -n 's/^.define ROWLOCK_SCHEMA_VERSION //p' src/session/connection.h)
# ALTER EXTENSION rowlock UPDATE needs a script from each earlier version.
FORMER_VERSIONS := $(shell seq 1 $$(($(SCHEMA_VERSION) - 1)))
EXTENSION_SCRIPTS := rowlock--$(SCHEMA_VERSION).sql \
                     $(FORMER_VERSIONS:%=rowlock--%--$(SCHEMA_VERSION).sql)
EXTENSION_FILES := $(EXTENSION_BUILD)/rowlock.control \
                   $(EXTENSION_SCRIPTS:%=$(EXTENSION_BUILD)/%)

.PHONY: extension install-extension uninstall-extension find-pgxs
extension: $(EXTENSION_FILES)

$(EXTENSION_BUILD)/rowlock.control: sql/postgresql/rowlock.control.in src/session/connection.h \
                                    install.mk
	@mkdir -p $(@D)
	sed 's|@SCHEMA_VERSION@|$(SCHEMA_VERSION)|' $< > $@.tmp && mv $@.tmp $@

# `schema print` generates the script, so that it equals the installed schema.
$(EXTENSION_BUILD)/rowlock--$(SCHEMA_VERSION).sql: $(BUILD)/rowlock install.mk
	@mkdir -p $(@D)
	$(BUILD)/rowlock schema print postgresql --extension > $@.tmp && mv $@.tmp $@

$(EXTENSION_BUILD)/rowlock--%--$(SCHEMA_VERSION).sql: $(BUILD)/rowlock install.mk
	@mkdir -p $(@D)
	$(BUILD)/rowlock schema print postgresql --extension --from $* > $@.tmp && mv $@.tmp $@

find-pgxs:
	@[ -n '$(PGXS)' ] || { \
	  echo '$(PG_CONFIG) does not run: install the package postgresql-server-dev-NN of your' \
	    'server, or say where it is: make install-extension' \
	    'PG_CONFIG=/usr/lib/postgresql/NN/bin/pg_config' >&2; exit 1; }
	@[ -e '$(PGXS)' ] || { \
	  echo 'there is no $(PGXS), which $(PG_CONFIG) names: install the package' \
	    'postgresql-server-dev-NN of your server, or name the pg_config of another one by' \
	    'PG_CONFIG=' >&2; exit 1; }

# PGXS is a makefile of its own, with other CFLAGS and another target install.
run_pgxs = $(MAKE) --no-print-directory -C $(EXTENSION_BUILD) -f '$(PGXS)' VPATH=. PGXS='$(PGXS)' \
             PG_CONFIG='$(PG_CONFIG)' EXTENSION=rowlock DATA='$(EXTENSION_SCRIPTS)'

install-extension: find-pgxs $(EXTENSION_FILES)
	+$(run_pgxs) install

uninstall-extension: find-pgxs
	@mkdir -p $(EXTENSION_BUILD)
	+$(run_pgxs) uninstall
