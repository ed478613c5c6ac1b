// domain: guards.yaml: what always asks a person, without an end, and with approvals.yaml how many people. It is part of a rule set, and every rule
// of the set has it.
// decide/exemptions.ts alone decides whom a selector is about, as for exemptions.
import { shownName } from '../base/text.ts';
import { type Approvals, approvalLines } from './approvals.ts';
import { aboutText, FORGEABLE_FIELDS, type Selector } from './exemption.ts';
import type { GivenSource } from './given-facts.ts';
import type { Transmitter } from './signal.ts';
import { ID_FIELD } from './subjects.ts';

export interface Guard {
  selector: Selector;
  /** For people. */
  reason: string | undefined;
}

export interface Guards {
  /** An action on any of these waits for a person. */
  ask: readonly Guard[];
  /** The last device of a person that is neither banned nor proposed waits for a person. */
  lastDevice: boolean;
  /** More devices of one person than this within 24 hours wait for a person; undefined: no such bound. */
  perDay: number | undefined;
  /** Of `approvals.yaml`, and the owners of `guards.yaml`: absent without either. */
  approvals?: Approvals | undefined;
  /** Of `sources.yaml`: absent without it. */
  sources?: readonly GivenSource[] | undefined;
  /** Of `signals.yaml`: absent without it. */
  transmitters?: readonly Transmitter[] | undefined;
  /** The addresses of those whose signatures cover the set; absent where none is asked for. */
  signedBy?: string[] | undefined;
}

/** Of the set that these rules are of: undefined without a guards file. */
export function guardsOf(rules: readonly { readonly guards?: Guards | undefined }[]): Guards | undefined {
  return rules.find(({ guards }) => guards !== undefined)?.guards;
}

/** Whether the devices of owners have to be known: all of them, as only whole lists show them. */
export function asksForDevices({ lastDevice, perDay }: Guards): boolean {
  return lastDevice || perDay !== undefined;
}

/** All apply: the union, and the stricter bounds. */
export function allOf(guards: readonly Guards[]): Guards {
  const bounds = guards.flatMap(({ perDay }) => perDay ?? []);
  const approvals = guards.flatMap((one) => one.approvals ?? []);
  return {
    ask: guards.flatMap(({ ask }) => ask),
    lastDevice: guards.some(({ lastDevice }) => lastDevice),
    perDay: bounds.length === 0 ? undefined : Math.min(...bounds),
    ...(approvals.length > 0 && {
      approvals: {
        approvals: approvals.flatMap((one) => one.approvals),
        tokens: approvals.flatMap(({ tokens }) => tokens),
        ...(approvals.some(({ owners }) => owners) && { owners: approvals.flatMap(({ owners = [] }) => owners) }),
      },
    }),
  };
}

/** `user ceo@example.com`, `Groups = Board`. */
export function guardName({ selector }: Guard): string {
  const { kind, field, value } = selector;
  return ID_FIELD[kind] === field ? `${kind} ${shownName(value)}` : aboutText({ subject: undefined, selector });
}

/** Why an action waits. */
export function guardText(guard: Guard): string {
  const why = guard.reason === undefined ? '' : `: ${guard.reason}`;
  return `${GUARDS} asks a person about ${guardName(guard)}${why}`;
}

/** What they demand, one line each; of a long list of selectors the first ones. */
export function guardLines({ ask, lastDevice, perDay, approvals }: Guards, namedMax = 5): string[] {
  const more = ask.length > namedMax ? ` and ${ask.length - namedMax} more` : '';
  return [
    ...(ask.length > 0
      ? [`always asks a person about ${ask.slice(0, namedMax).map(guardName).join(', ')}${more}`]
      : []),
    ...(lastDevice ? ["asks before it takes a person's last device"] : []),
    ...(perDay === undefined
      ? []
      : [`asks before it takes more than ${devicesText(perDay)} of a person within 24 hours`]),
    ...ownerLines(approvals),
    ...(approvals ? approvalLines(approvals) : []),
  ];
}

export function ownerLines(approvals: Approvals | undefined): string[] {
  return (approvals?.owners ?? []).map(({ folder, groups }) => {
    return `lets only ${groups.join(' or ')} answer for the rules of \`${folder}\``;
  });
}

export function devicesText(count: number): string {
  return count === 1 ? 'one device' : `${count} devices`;
}

export function isForgeable({ selector }: Guard): boolean {
  return FORGEABLE_FIELDS.includes(selector.field);
}

/** What the file is called in texts. */
export const GUARDS = '`guards.yaml`';
