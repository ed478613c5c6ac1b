// harness: judges a life with `guards.yaml`: while it is in force, nothing that it asks a person about is called without a person's yes: in runs, looks,
// retries and what was approved otherwise. In: a request, its intent. Out: violations.
import type { Guards } from '../../src/domain/guards.ts';
import type { Intent } from '../../src/domain/intent.ts';
import type { LoadedRule } from '../../src/rules/language/loaded-rule.ts';
import { partiesOf } from './check-operator.ts';
import type { Checker } from './checker.ts';
import type { PlatformRequest } from './platform.ts';
import { type GuardsProfile, LOOK_MS, type Profile } from './profile.ts';
import { ownersOf } from './records.ts';
import type { SimClock } from './sim-clock.ts';
import type { Version } from './world.ts';

/** A call that was asked about before may still be under way. */
const UNDER_WAY_MS = 10_000;
const DAY_MS = 86_400_000;

export function areGuarded({ guards }: Profile, { trueMs }: Pick<SimClock, 'trueMs'>): boolean {
  return guards !== undefined && trueMs >= guards.fromMs && trueMs < guards.toMs;
}

export function withGuards(rules: readonly LoadedRule[], guards: Guards | undefined): readonly LoadedRule[] {
  return guards ? rules.map((rule) => ({ ...rule, guards: { ...guards, files: [] } })) : rules;
}

export function checkGuards(checker: Checker, request: PlatformRequest, intent: Intent): void {
  const { profile, approvedPlans, ledger } = checker;
  const { guards } = profile;
  const { atMs, verb, target } = request;
  if (!guards || atMs < guards.fromMs + UNDER_WAY_MS || atMs >= guards.toMs || verb !== 'ban') return;
  // An intent that failed before is tried once more by the plan that a person approved since.
  const plan = ledger.letBy.get(intent.id) ?? (intent.approved ? intent.planId : undefined);
  if (approvedPlans.has(plan ?? '')) return;
  const versions = checker.world.during(atMs - LOOK_MS, atMs);
  const named = guards.ask.find((guard) => versions.every((version) => isNamed(guard, version, target)));
  const owners = ownersIn(versions[0] as Version, target).filter((owner) =>
    versions.every((version) => ownersIn(version, target).includes(owner)),
  );
  const last = guards.lastDevice && owners.find((owner) => !hasAnother(versions, owner, target));
  const over = owners.find((owner) => takenInDay(checker, request, versions, owner) > (guards.perDay ?? 1_000));
  const why = named?.selector.value ?? last ?? over;
  if (why)
    checker.report('unasked', `ban of ${target}: \`guards.yaml\` asks a person about ${why}, and nobody said yes`);
}

function isNamed({ selector: { field, value } }: GuardsProfile['ask'][number], version: Version, target: string) {
  if (field === 'Platform') return true;
  return partiesOf(version, target).includes(field === 'Email' ? `user ${value}` : `${field} = ${value}`);
}

function ownersIn({ devices, users }: Version, serial: string): string[] {
  return devices.filter((device) => device.serial === serial).flatMap((device) => ownersOf(device, users));
}

/** At some moment that could be read. */
function hasAnother(versions: readonly Version[], owner: string, serial: string): boolean {
  return versions.some(({ devices, users }) =>
    devices.some(
      (device) => device.serial !== serial && device.banned === 'FALSE' && ownersOf(device, users).includes(owner),
    ),
  );
}

/** Serial numbers with this one. */
function takenInDay(checker: Checker, request: PlatformRequest, versions: readonly Version[], owner: string): number {
  const isOwn = (serial: string) => versions.every((version) => ownersIn(version, serial).includes(owner));
  const earlier = checker.requests.filter(
    ({ verb, fate, wallMs }) => verb === 'ban' && fate !== 'unauthorized' && wallMs > request.wallMs - DAY_MS,
  );
  return new Set([request, ...earlier].map(({ target }) => target).filter(isOwn)).size;
}
