-- SPDX-License-Identifier: Apache-2.0
SELECT rowlock.claim_job({claim_values});
