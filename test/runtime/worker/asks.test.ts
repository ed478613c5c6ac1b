// worker: what was asked for through a shared table is named JSON, parsed at both ends; what the version before wrote is read, and answered in its form.
import { describe, expect, it } from 'vitest';
import { OPERATION_IDS } from '../../../src/contract/table.ts';
import { type ActingId, isActing } from '../../../src/runtime/operations/acting.ts';
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
  selector: { field: 'Groups', value: 'Board' },
  acceptForgeable: true,
};

/** By position as the version before said it, and by name. */
const OPERATIONS: [name: string, said: unknown[], id: ActingId, by: string, input: object][] = [
  [
    'approve',
    ['p1', 'ana', 'r', PART, true],
    ...(['approvePlan', 'ana', { id: 'p1', ...PART, reason: 'r', breakGlass: true }] as const),
  ],
  [
    'approve',
    ['p1', 'ana', 'why', PART],
    'approvePlan',
    'ana',
    { id: 'p1', reason: 'why', ...PART, breakGlass: false },
  ],
  ['reject', ['p1', 'ana', 'why'], 'rejectPlan', 'ana', { id: 'p1', reason: 'why' }],
  ['apply', ['p1', 'ana', { reason: 'fire' }], 'applyPlan', 'ana', { id: 'p1', reason: 'fire', breakGlass: true }],
  ['apply', ['p1', 'ana'], 'applyPlan', 'ana', { id: 'p1', breakGlass: false }],
  ['exempt', [REQUEST, 'ana'], 'addExemption', 'ana', REQUEST],
  ['resolve', ['i1', 'done', WHO], 'resolveIntent', 'ana', { id: 'i1', as: 'done', reason: 'a test' }],
  ['release', ['S-1', WHO], 'releaseClaims', 'ana', { target: 'S-1', reason: 'a test' }],
  ['releaseRule', ['r1', 'ana', undefined], 'releaseClaims', 'ana', { rule: 'r1' }],
];

/** The version before had none of these. */
const NAMED: [id: ActingId, input: object][] = [
  ['checkSubject', { kind: 'device', id: 'd1' }],
  ['resumeRollout', { id: 'r1', reason: 'a test' }],
  ['restartRollout', { id: 'r1', reason: 'a test' }],
];

describe('what was asked for', () => {
  it.each(OPERATIONS)('as `%s` is the same by position and by name', async (name, said, id, by, input) => {
    const asked = { id, by, input };
    expect(await askedFor(rowOf(name, { form: 'positional', value: said }), 'a1')).toEqual({
      ...asked,
      form: 'positional',
    });
    const value = JSON.parse(JSON.stringify({ by, input }));
    expect(await askedFor(rowOf(id, { form: 'named', value }), 'a1')).toEqual({ ...asked, form: 'named' });
  });

  it.each(NAMED)('as `%s` is read by name', async (id, input) => {
    const asked = await askedFor(rowOf(id, { form: 'named', value: { by: 'ana', input } }), 'a1');
    expect(asked).toEqual({ id, by: 'ana', input, form: 'named' });
  });

  it('names every operation there is', () => {
    expect(new Set([...OPERATIONS.map(([, , id]) => id), ...NAMED.map(([id]) => id)])).toEqual(
      new Set(OPERATION_IDS.filter(isActing)),
    );
  });

  it.each([
    ['an operation of another version', 'transfer', { by: 'ana', input: {} }, '`transfer`: it is of another version'],
    [
      'a member that is missing',
      'resolveIntent',
      { by: 'ana', input: { id: 'i', as: 'done' } },
      '`reason` is required',
    ],
    ['a member of another version', 'rejectPlan', { by: 'ana', input: { id: 'p1', ticket: 'T-1' } }, '`ticket`'],
    ['nobody who asked', 'rejectPlan', { input: { id: 'p1' } }, 'it is said in another form'],
    ['a name of Object.prototype', 'constructor', { by: 'ana', input: {} }, '`constructor`: it is of another version'],
  ])('is refused with its place for %s', async (_, operation, value, message) => {
    await expect(askedFor(rowOf(operation, { form: 'named', value }), 'a1')).rejects.toMatchObject({
      code: 'internal',
      message: expect.stringContaining(message),
    });
  });
});
