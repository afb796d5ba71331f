# SPDX-License-Identifier: Apache-2.0
# The protocol as a model, checked by SPIN. The quick part is a test (tests/model); this is all of it.

MODEL ?=

.PHONY: model
model:
	@tools/install-packages model
	@model/run.sh $(MODEL)
