-- SPDX-License-Identifier: Apache-2.0
SELECT rowlock.plan_job({plan_values});
