// console seed: trust data: scores, levels and the factors behind them.
// In: choices and a level. Out: column values. Scores and levels always agree, as a real server's do.
import type { TrustLevel } from '../../management/contract.ts';
import type { Choices } from './random.ts';

export interface TrustColumns {
  trust_entity: number;
  trust_override: number;
  trust_access: number;
  override_active: 'TRUE' | 'FALSE';
  trust_level: TrustLevel;
  factors: string;
}

const SCORES: Record<TrustLevel, [number, number]> = {
  AlwaysDeny: [0, 60],
  Low: [10, 39],
  Medium: [40, 69],
  High: [70, 100],
  AlwaysAllow: [60, 100],
};

export const DEVICE_LEVELS: readonly (readonly [TrustLevel, number])[] = [
  ['High', 74],
  ['Medium', 22],
  ['Low', 2],
  ['AlwaysAllow', 1.6],
  ['AlwaysDeny', 0.4],
];

export const USER_LEVELS: readonly (readonly [TrustLevel, number])[] = [
  ['High', 84],
  ['Medium', 14],
  ['AlwaysAllow', 1.5],
  ['Low', 0.5],
];

export function trustOf(choices: Choices, level: TrustLevel): TrustColumns {
  const [from, to] = SCORES[level];
  const entity = choices.between(from, to);
  const override = level === 'AlwaysAllow' ? 100 : level === 'AlwaysDeny' ? 0 : undefined;
  return {
    trust_entity: entity,
    trust_override: override ?? 0,
    trust_access: override ?? entity,
    override_active: override === undefined ? 'FALSE' : 'TRUE',
    trust_level: level,
    factors: factorsOf(choices, level),
  };
}

const FACTORS: readonly [name: string, bad: string, description: string, remediation: string][] = [
  ['Disk Encryption', 'Disabled', 'the disk is not encrypted', 'turn on disk encryption'],
  ['Firewall', 'Disabled', 'the firewall is off', 'turn on the firewall'],
  ['Auto Update', 'Disabled', 'updates are not installed by themselves', 'turn on automatic updates'],
  ['Screen Lock', 'Not set', 'the screen does not lock', 'set a screen lock'],
  ['Not Jailbroken', 'Jailbroken', 'the system was tampered with', 'restore the system'],
];

/** Factors of a device that was found tampered with. */
export const COMPROMISED_FACTORS = JSON.stringify([factorOf(4, 'mdm')]);

function factorsOf(choices: Choices, level: TrustLevel): string {
  if (level === 'High' || level === 'AlwaysAllow') return choices.chance(0.9) ? '[]' : one(choices);
  if (level === 'Medium') return one(choices);
  return JSON.stringify([factorOf(0, 'internal'), factorOf(1 + choices.int(3), 'internal')]);
}

const SINGLE = [0, 1, 2, 3].map((index) => JSON.stringify([factorOf(index, 'internal')]));

function one(choices: Choices): string {
  return choices.pick(SINGLE);
}

function factorOf(index: number, source: string): object {
  const [name, value, description, remediation] = FACTORS[index] as (typeof FACTORS)[number];
  return {
    Name: name,
    Value: value,
    Type: 'internal',
    Source: source,
    Description: description,
    RemediationDescription: remediation,
    RemediationURL: '',
  };
}
