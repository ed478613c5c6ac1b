// checks: whether the target can be acted on: one device or several under a serial number, gone, unreadable, or wanted otherwise by another rule.
// INVARIANT: asked before every call, on every path to it.
import {
  type Check,
  type CheckName,
  type ClaimFacts,
  hold,
  type Rival,
  skip,
  type TargetFacts,
} from '../../../domain/check.ts';
import type { FleetDevice } from '../../../domain/subjects.ts';
import { lastRunSaid } from './rules.ts';

export const TARGETS = {
  conflict: {
    when: 'another rule wants the opposite for the target, or holds a claim on it',
    unlifted: true,
    ask(facts) {
      const claim = opposing(facts);
      if (facts.rival && !(claim && facts.rival.how === 'not_judged')) return hold('conflict', textOf(facts.rival));
      if (claim) return hold('conflict', `rule ${claim.rule} has ${claim.action} in force on the same target`);
      return lastRunSaid(facts, 'conflict');
    },
  },
  'serial-shared': {
    when: 'several devices share the serial number, and differ in platform or model or are more than allowed',
    ask({ undo, serial }) {
      const text = undo || !serial ? undefined : disagreement(serial.devices, serial.devicesMax);
      return text === undefined ? undefined : hold('serial_shared', text);
    },
  },
  'impossible-target': {
    when: 'the serial number is empty or a placeholder, or the action cannot be done to what was read',
    ask(facts) {
      const { noDevices, serial, refused } = facts;
      if (noDevices === 'unknown')
        return skip('impossible_target', 'the server does not report which devices the user has');
      if (refused !== undefined) return skip('impossible_target', refused);
      if (!serial?.isPlaceholder) return lastRunSaid(facts, 'impossible_target');
      const { number } = serial;
      const what =
        number.trim() === '' ? 'its serial number is empty' : `\`${number}\` is a placeholder, not a serial number`;
      return skip('impossible_target', `${what}: it would hit devices that have nothing to do with each other`);
    },
  },
  'target-gone': {
    when: 'the target was not found when it was read again',
    ask({ state, isDoubt }) {
      if (state !== 'absent') return undefined;
      return skip('drifted', `the target is gone${isDoubt ? ': whether it was done is not known' : ''}`);
    },
  },
  unreadable: {
    when: "the server does not report the target's state",
    ask: ({ state }) =>
      state === 'unreadable' ? skip('in_doubt', 'the server does not report whether it was done') : undefined,
  },
} satisfies { readonly [name in CheckName]?: Check };

function textOf({ rule, action, how }: Rival): string {
  const who = how === 'not_judged' ? `rule ${rule}, which this run does not judge,` : `rule ${rule}`;
  return `${who} wants ${action} for the same target${how === 'is_so' ? ', and the target is already in that state' : ''}`;
}

function opposing({ traits, undo, released, basis, claims = [] }: TargetFacts): ClaimFacts | undefined {
  const open = claims.filter(({ action }) => action === traits.inverse);
  // A claim whose own rule has ceased to match only waits to be undone, and opposes nothing.
  if (!undo) return open.find((claim) => !claim.isOver && basis.some(({ rule }) => rule !== claim.rule));
  // An undo covers only claims of this intent's own episodes. An orphaned claim is undone only when a person releases it.
  const own = new Set(basis.map(({ episodeId }) => episodeId));
  return open.find(({ episodeId, status }) => !own.has(episodeId) || (status === 'orphaned' && !released));
}

function disagreement(devices: readonly FleetDevice[], devicesMax: number): string | undefined {
  if (devices.length > devicesMax)
    return `${devices.length} devices share this serial number (more than ${devicesMax})`;
  for (const field of ['platform', 'model'] as const) {
    const values = [...new Set(devices.map((device) => device[field]))];
    if (values.length > 1) return `devices of this serial number differ in ${field}: ${values.map(quoted).join(', ')}`;
  }
  return undefined;
}

function quoted(value: string): string {
  return value === '' ? '(empty)' : `\`${value}\``;
}
