# SPDX-License-Identifier: Apache-2.0
# Checks the model of the protocol with SPIN. tests/model runs the quick part, this all of it.

MODEL ?=

.PHONY: model
model:
	@tools/install-packages model
	@model/run.sh $(MODEL)
