-- SPDX-License-Identifier: Apache-2.0
-- The start of a transaction of ours, in full: a role's or database's defaults may differ.
BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE;
