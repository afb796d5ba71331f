-- SPDX-License-Identifier: Apache-2.0
-- Technique native: programs lock by rowlock's functions alone.

UPDATE rowlock.meta SET technique = 'native';
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA rowlock FROM PUBLIC;
