# SPDX-License-Identifier: Apache-2.0
# make release: everything that a release consists of, in build/release/ (PARTS, REVISION).
# make dist: the source release, in build/dist/; make check-dist builds and installs it without git.
# make deb: the Debian packages, in build/deb/; make check-deb installs, upgrades and purges them in
# a bare Debian, and make check-systemd runs their units under systemd, both as root. make
# check-bare: the README's commands for a bare machine, in one, as root. make check-musl: a build
# with the C library of Alpine. Included by the Makefile.

.PHONY: release dist check-bare check-dist check-musl deb deb-installed check-deb check-systemd
dist:
	@tools/need bash git gzip sha256sum tar
	@packaging/make-dist '$(BUILD)/dist' '$(VERSION)' $(REVISION)

release:
	@tools/install-packages ci
	@tools/need bash dpkg-buildpackage git go gzip mvn npm python3 sha256sum tar
	@packaging/make-release '$(BUILD)/release' '$(VERSION)' $(REVISION)

check-dist: dist
	@packaging/check-dist '$(BUILD)/dist' '$(VERSION)'

check-musl:
	@tools/install-packages deb
	@tools/need bash dpkg musl-gcc readelf
	@packaging/check-musl

# Only a new make sees newly installed packages with pkg-config.
deb:
	@tools/install-packages deb
	@+$(MAKE) --no-print-directory deb-installed

deb-installed:
	@tools/need bash dh dpkg-buildpackage lintian pg_buildext tar
	@packaging/make-deb '$(BUILD)/deb' '$(VERSION)'

check-bare:
	@tools/install-packages deb
	@packaging/check-bare

check-deb:
	@tools/install-packages deb
	@+$(MAKE) --no-print-directory '$(BUILD)/next/rowlock'
	@packaging/check-deb '$(BUILD)/deb' '$(BUILD)/next/rowlock' $(PREVIOUS)

check-systemd:
	@tools/install-packages deb
	@packaging/check-systemd '$(BUILD)/deb'
