# SPDX-License-Identifier: Apache-2.0
# make site: the documents as a static site, in build/site/html, with a playground. It needs PyPI
# and npm. ROWLOCK is the command whose help and schema it shows (default: that of this build). make
# check-site also looks at it in a headless Chromium. Included by the Makefile.

SITE := $(BUILD)/site
# Zensical continues Material for MkDocs, whose maintenance ends; it reads the same files.
ZENSICAL := zensical==0.0.73
PGLITE   := @electric-sql/pglite@0.5.17

.PHONY: site check-site
site: $(if $(ROWLOCK),,$(BUILD)/rowlock) $(SITE)/tools/made
	@site/build '$(or $(ROWLOCK),$(BUILD)/rowlock)' '$(SITE)'
	@site/check '$(SITE)/html'

$(SITE)/tools/made: site/site.mk
	@tools/need python3 npm
	@mkdir -p $(@D)
	python3 -m venv $(@D)
	$(@D)/bin/pip install --quiet --disable-pip-version-check '$(ZENSICAL)'
	cd $(@D) && echo '{"private": true}' >package.json && \
	  npm install --no-save --no-audit --no-fund --loglevel=error '$(PGLITE)' >&2
	@touch $@

check-site: all test-programs
	@tools/install-packages ci
	@CLIENTS=1 tests/run clients/site
