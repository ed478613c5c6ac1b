// worker: what was asked for through a shared table is named JSON, parsed at both ends; what the version before wrote is read, and answered in its form.
import { describe, expect, it } from 'vitest';
import { SAID } from '../../../src/runtime/daemon/operations.ts';
import { askedFor } from '../../../src/runtime/worker/asks.ts';
import type { Kept } from '../../../src/store/postgres/pool.ts';

const rowOf = (operation: string, said: Kept) => ({ find: async () => ({ operation, said }) });
const WHO = { by: 'ana', reason: 'a test' };
const PART = { rules: [], only: ['S-1'], except: [] };
const REQUEST = {
  unseen: true,
  owner: 'Ana',
  reason: 'travel',
  until: '3d',
  release: true,
  selector: undefined,
  acceptForgeable: true,
};

/** By position as the version before said it, and by name. */
const OPERATIONS: [name: keyof typeof SAID, said: unknown[], named: object][] = [
  ['approve', ['p1', 'ana', undefined, PART, true], { plan: 'p1', by: 'ana', part: PART, breakGlass: true }],
  ['approve', ['p1', 'ana', 'why', PART], { plan: 'p1', by: 'ana', reason: 'why', part: PART, breakGlass: false }],
  ['reject', ['p1', 'ana', 'why'], { plan: 'p1', by: 'ana', reason: 'why' }],
  ['apply', ['p1', 'ana', { reason: 'fire' }], { plan: 'p1', by: 'ana', breakGlass: { reason: 'fire' } }],
  ['exempt', [REQUEST, 'ana'], { request: { ...REQUEST, selector: undefined }, by: 'ana' }],
  ['resolve', ['i1', 'done', WHO], { intent: 'i1', as: 'done', ...WHO }],
  ['release', ['S-1', WHO], { target: 'S-1', ...WHO }],
  ['releaseRule', ['r1', 'ana', undefined], { rule: 'r1', by: 'ana' }],
];

describe('what was asked for', () => {
  it.each(OPERATIONS)('as `%s` is the same by position and by name', async (name, said, named) => {
    const old = await askedFor(rowOf(name, { form: 'positional', value: said }), 'a1');
    expect(old.said).toEqual(named);
    expect(old.form).toBe('positional');
    const json = JSON.parse(JSON.stringify(named));
    expect(await askedFor(rowOf(name, { form: 'named', value: json }), 'a1')).toEqual({ ...old, form: 'named' });
  });

  it('names every operation there is', () => {
    expect(new Set(OPERATIONS.map(([name]) => name))).toEqual(new Set(Object.keys(SAID)));
  });

  it.each([
    ['an operation of another version', 'transfer', { target: 'S-1' }, '`transfer`: it is of another version'],
    ['a field that is missing', 'release', { by: 'ana', reason: 'x' }, '`release`: `target` is required'],
    ['a field of another version', 'reject', { plan: 'p1', by: 'ana', ticket: 'T-1' }, '`reject`'],
    ['a name of Object.prototype', 'constructor', {}, '`constructor`: it is of another version'],
  ])('is refused with its place for %s', async (_, operation, value, message) => {
    await expect(askedFor(rowOf(operation, { form: 'named', value }), 'a1')).rejects.toMatchObject({
      code: 'internal',
      message: expect.stringContaining(message),
    });
  });
});
