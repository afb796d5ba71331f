# SPDX-License-Identifier: Apache-2.0
# make deb: the Debian packages, in build/deb/; make check-deb installs, upgrades and purges them in
# a bare Debian, as root. Included by the Makefile.

.PHONY: deb deb-installed check-deb

# Only a new make sees newly installed packages with pkg-config.
deb:
	@tools/install-packages deb
	@+$(MAKE) --no-print-directory deb-installed

deb-installed:
	@packaging/make-deb '$(BUILD)/deb' '$(VERSION)'

check-deb:
	@tools/install-packages deb
	@packaging/check-deb '$(BUILD)/deb' $(PREVIOUS)
