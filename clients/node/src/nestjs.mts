// SPDX-License-Identifier: Apache-2.0
// For import, as esm.mts.

export * from './nestjs.js';
