# SPDX-License-Identifier: Apache-2.0
# The program of tests/vendor/run.
test-programs: $(BUILD)/tests/vendor/probe
