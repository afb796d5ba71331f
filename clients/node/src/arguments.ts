// SPDX-License-Identifier: Apache-2.0
// Wrong arguments are errors of JavaScript, before anything is sent.

import { isPool, type Source } from './engine';

const SURROGATE = /\p{Surrogate}/u; // alone: it has no UTF-8, and two of them would be one name
export const LONGEST_TTL = 100 * 365.25 * 86_400_000; // the server's

export function text(what: string, value: unknown, most = Infinity): string {
    if (typeof value !== 'string') throw new TypeError(`${what} must be a string`);
    if (SURROGATE.test(value)) throw new RangeError(`${what} has half of a surrogate pair`);
    if (value.includes('\0')) throw new RangeError(`${what} must not contain NUL`); // as PostgreSQL
    const size = Buffer.byteLength(value);
    if (most < Infinity && (size < 1 || size > most)) {
        throw new RangeError(`${what} must have 1 to ${most} bytes in UTF-8, not ${size}`);
    }
    return value;
}

/** Milliseconds, at least 0; undefined and any time that no clock reaches: without a limit. */
export function patience(what: string, value: unknown): number {
    if (value === undefined) return Infinity;
    const given = milliseconds(what, value, 0, Infinity);
    return given < LONGEST_TTL ? given : Infinity;
}

export function milliseconds(what: string, value: unknown, least: number, most: number): number {
    if (typeof value !== 'number') throw new TypeError(`${what} must be a number of milliseconds`);
    if (value >= least && value <= most) return value; // not NaN
    const limits = most < Infinity ? `from ${least} to ${most}` : `at least ${least}`;
    throw new RangeError(`${what} must be ${limits} milliseconds, not ${value}`);
}

/** A whole number that fits into an integer of SQL. */
export function whole(what: string, value: unknown, least: number): number {
    if (typeof value !== 'number') throw new TypeError(`${what} must be a number`);
    if (Number.isInteger(value) && value >= least && value < 2 ** 31) return value;
    throw new RangeError(`${what} must be a whole number from ${least}, not ${value}`);
}

/** For SQL: null is without a limit. */
export function sent(limit: number): number | null {
    return limit === Infinity ? null : Math.ceil(limit);
}

export interface Terms {
    name: string;
    ttl: number;
    wait: number;
    mode: string;
    permits: number | null;
    note: string | null;
}

/** The terms of a lease. */
export function terms(
    name: unknown,
    options: { [key in 'ttl' | 'wait' | 'shared' | 'permits' | 'note']?: unknown },
): Terms {
    const { ttl = 30_000, wait, shared = false, permits, note } = options;
    if (typeof shared !== 'boolean') throw new TypeError('shared must be a boolean');
    const limit = permits === undefined ? null : whole('permits', permits, 1);
    if (shared && permits !== undefined)
        throw new TypeError('shared and permits exclude each other');
    return {
        name: text('name', name, 255),
        ttl: Math.round(milliseconds('ttl', ttl, 1000, LONGEST_TTL)),
        wait: patience('wait', wait),
        mode: permits !== undefined ? 'permit' : shared ? 'shared' : 'exclusive',
        permits: limit,
        note: note === undefined ? null : text('note', note),
    };
}

export function checkSource(source: Source): void {
    const found = (source as { promise?(): unknown } | undefined)?.promise?.() ?? source;
    if (typeof source === 'function' || isPool(found)) return;
    const advice = 'or a function that opens a connection for this lease';
    throw new TypeError(`a lease needs a pool of pg, mysql2 or mariadb, ${advice}`);
}
