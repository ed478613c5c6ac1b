// harness: devices that begin to match rules and clear again, people who unban some of them, and the faults of a console meanwhile. In: a console, dice. Out: what became true of
// each device, and how often.
import type { Console } from '../../src/console/console.ts';
import type { FaultInput } from '../../src/console/faults/interception.ts';
import { BAN_BY_PAGES } from '../support/organization.ts';
import type { Dice } from './dice.ts';

const CAST = ['KILL-1', 'KILL-2', 'KILL-3', 'KILL-4', 'KILL-5', 'KILL-6', 'KILL-7', 'KILL-8'] as const;

/** It acts on all of them at a time. */
export const RULE = BAN_BY_PAGES.replace('revert: true', 'revert: true\nlimits: { max: 1000, percent: 100 }');

const EVENT = { type: 'Device', subType: 'Posture', action: 'Changed', severity: 'WARN' } as const;
const LATE_MS = 250;
const WRITES = { method: 'POST', path: '/api/v1/mdm/update_device' } as const;

/** A second one of another `for`, which proposes the same later, and is judged by whole runs alone. */
export const LATER_RULE = RULE.replace(/^id: .*$/m, 'id: ban-compromised-later').replace(
  'revert: true',
  'revert: true\nfor: 2s\nwatch: false',
);

/** How often each serial number's device began to match and cleared, and how often a person unbanned it meanwhile. */
export type Troubles = Map<
  string,
  { begun: number; ended: number; reversed: number; mayMatchAgain: boolean; id: string }
>;

export function addCast(console: Console, serials: readonly string[] = CAST): Troubles {
  return new Map(
    serials.map((serial) => {
      const id = console.fleet.addDevice({ serial, mdm_compromised: 'FALSE' });
      return [serial, { begun: 0, ended: 0, reversed: 0, mayMatchAgain: false, id }];
    }),
  );
}

export function changeTroubles(console: Console, troubles: Troubles, dice: Dice): void {
  const serials = [...troubles.keys()];
  for (let changes = dice.whole(1, serials.length / 2); changes > 0; changes -= 1)
    changeTrouble(console, troubles, dice.pick(serials), dice.chance(0.8));
}

/** People unban some of those that are banned, although they still match: soon after the ban, or while no daemon lives. */
export function reverseBans(console: Console, troubles: Troubles, dice: Dice): void {
  for (const [serial, trouble] of troubles) {
    if (!trouble.mayMatchAgain || !isBanned(console, trouble.id) || !dice.chance(0.3)) continue;
    console.fleet.banByHand(serial, 'FALSE');
    trouble.reversed += 1;
  }
}

export function isBanned(console: Console, id: string): boolean {
  const isOfBan = (kind: string) => kind === 'device_banned' || kind === 'device_unbanned';
  return console.effects().findLast(({ kind, target }) => target === id && isOfBan(kind))?.kind === 'device_banned';
}

function changeTrouble(console: Console, troubles: Troubles, serial: string, hasEvent: boolean): void {
  const trouble = troubles.get(serial);
  if (!trouble) return;
  trouble.mayMatchAgain = !trouble.mayMatchAgain;
  if (trouble.mayMatchAgain) trouble.begun += 1;
  else trouble.ended += 1;
  console.fleet.patchDevice(trouble.id, { mdm_compromised: trouble.mayMatchAgain ? 'TRUE' : 'FALSE' });
  if (hasEvent) console.fleet.addEvent({ ...EVENT, deviceId: trouble.id });
}

export function faultsOf(dice: Dice): FaultInput[] {
  return [
    { kind: 'latency', ms: dice.whole(5, 60) },
    {
      kind: 'late_effect',
      match: WRITES,
      rate: 0.2,
      ms: dice.whole(20, LATE_MS),
      answer: dice.pick(['reset', 'error', 'silence']),
    },
    { kind: 'reset_after', match: WRITES, rate: 0.15 },
    { kind: 'reset_before', match: WRITES, rate: 0.1 },
    { kind: 'error', match: WRITES, rate: 0.1, status: 503, effect: dice.chance(0.5) },
    { kind: 'rate_limited', match: WRITES, rate: 0.05, retryAfterS: 0 },
    { kind: 'reset_before', match: { method: 'GET' }, rate: 0.03 },
  ];
}
