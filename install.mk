# SPDX-License-Identifier: Apache-2.0
# make install, make uninstall: DESTDIR, PREFIX and the folders below it. Included by the Makefile.

INSTALL    ?= install
DATADIR    ?= $(PREFIX)/share
PKGCONFDIR ?= $(LIBDIR)/pkgconfig
COMPDIR    ?= $(DATADIR)/bash-completion/completions
DOCDIR     ?= $(DATADIR)/doc/rowlock

# docs/ stays a folder there, for README links to it.
DOCUMENTS = LICENSE $(wildcard README.md CHANGELOG)

$(BUILD)/rowlock.pc: rowlock.pc.in Makefile install.mk FORCE
	@mkdir -p $(@D)
	sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@INCDIR@|$(INCDIR)|' -e 's|@LIBDIR@|$(LIBDIR)|' \
	  -e 's|@VERSION@|$(VERSION)|' $< > $@

.PHONY: FORCE install uninstall
FORCE:

install: all $(BUILD)/rowlock.pc
	$(INSTALL) -d '$(DESTDIR)$(BINDIR)' '$(DESTDIR)$(LIBDIR)' '$(DESTDIR)$(INCDIR)/rowlock' \
	  '$(DESTDIR)$(MANDIR)/man1' '$(DESTDIR)$(PKGCONFDIR)' '$(DESTDIR)$(COMPDIR)' \
	  '$(DESTDIR)$(DOCDIR)/docs'
	$(INSTALL) -m 755 $(BUILD)/rowlock '$(DESTDIR)$(BINDIR)/rowlock'
	$(INSTALL) -m 644 $(BUILD)/librowlock.a '$(DESTDIR)$(LIBDIR)/librowlock.a'
	$(INSTALL) -m 755 $(BUILD)/librowlock.so.$(ABI) '$(DESTDIR)$(LIBDIR)/librowlock.so.$(ABI)'
	ln -sf librowlock.so.$(ABI) '$(DESTDIR)$(LIBDIR)/librowlock.so'
	$(INSTALL) -m 644 include/rowlock.h '$(DESTDIR)$(INCDIR)/rowlock.h'
	$(INSTALL) -m 644 include/rowlock/*.h '$(DESTDIR)$(INCDIR)/rowlock/'
	$(INSTALL) -m 644 $(BUILD)/rowlock.pc '$(DESTDIR)$(PKGCONFDIR)/rowlock.pc'
	$(INSTALL) -m 644 man/rowlock.1 $(VERB_PAGES) '$(DESTDIR)$(MANDIR)/man1/'
	$(INSTALL) -m 644 $(BUILD)/completion/rowlock '$(DESTDIR)$(COMPDIR)/rowlock'
	$(INSTALL) -m 644 $(DOCUMENTS) '$(DESTDIR)$(DOCDIR)/'
	$(INSTALL) -m 644 $(wildcard docs/*.md) '$(DESTDIR)$(DOCDIR)/docs/'
	@[ -n '$(DESTDIR)' ] || $(PKG_CONFIG) --exists rowlock 2>/dev/null || \
	  echo 'pkg-config does not look there: export PKG_CONFIG_PATH=$(PKGCONFDIR)'

uninstall:
	rm -f '$(DESTDIR)$(BINDIR)/rowlock' '$(DESTDIR)$(LIBDIR)'/librowlock.a \
	  '$(DESTDIR)$(LIBDIR)'/librowlock.so '$(DESTDIR)$(LIBDIR)/librowlock.so.$(ABI)' \
	  '$(DESTDIR)$(INCDIR)/rowlock.h' '$(DESTDIR)$(PKGCONFDIR)/rowlock.pc' \
	  '$(DESTDIR)$(MANDIR)/man1/rowlock.1' '$(DESTDIR)$(COMPDIR)/rowlock' \
	  $(VERB_PAGES:$(BUILD)/man/%='$(DESTDIR)$(MANDIR)/man1/%')
	rm -rf '$(DESTDIR)$(INCDIR)/rowlock' '$(DESTDIR)$(DOCDIR)'
