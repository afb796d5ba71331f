// SPDX-License-Identifier: Apache-2.0
// For import: the same module as for require, so that a program has one copy of the classes.

export * from './index.js';
