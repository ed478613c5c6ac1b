// harness: judges a writing request against operator commands: a stop, an exemption, an approval, a changed rule. Each
// counts from its commit on, except in the moment between preflight and the call.
import type { Intent } from '../../src/domain/intent.ts';
import { BETWEEN_MS, type Checker } from './checker.ts';
import type { IntentLife } from './ledger.ts';
import type { PlatformRequest } from './platform.ts';
import { LOOK_MS } from './profile.ts';
import { ownersOf } from './records.ts';
import type { Verb, Version } from './world.ts';

export function checkSteering(checker: Checker, request: PlatformRequest, intent: Intent, life: IntentLife): void {
  const { ledger } = checker;
  const what = `${intent.action} ${request.target}`;
  const seenMs = request.atMs - BETWEEN_MS;
  if (ledger.stoppedAtMs !== undefined && ledger.stoppedAtMs < seenMs)
    checker.report('while_stopped', `${what}: everything is stopped for ${request.atMs - ledger.stoppedAtMs} ms`);
  if (!intent.undo) checkExempt(checker, request, intent, what);
  checkApproval(checker, request, intent, what);
  if (!intent.released) checkReload(checker, intent, life, seenMs, what);
}

function checkExempt(checker: Checker, { target, atMs }: PlatformRequest, intent: Intent, what: string): void {
  const versions = checker.world.during(atMs - LOOK_MS, atMs);
  for (const [id, { about, fromMs, toMs }] of checker.ledger.exemptions) {
    // The plan showed who joined the exemption later, and a person approved it: its own one, or that of this attempt.
    const isApproved = intent.approved || checker.approvedPlans.has(checker.ledger.letBy.get(intent.id) ?? '');
    if (isApproved && intent.effect.joined?.includes(id)) continue;
    if (fromMs >= atMs - BETWEEN_MS || toMs < atMs) continue;
    if (versions.every((version) => isAbout(about, version, target)))
      checker.report('exempt', `${what}: exempt for ${atMs - fromMs} ms (${about})`);
  }
}

/** A serial number is the same in upper and lower case. */
export function isAbout(about: string, version: Version, target: string): boolean {
  return partiesOf(version, target).some((party) => party.toLowerCase() === about.toLowerCase());
}

/** Everybody whom an action on the target touches, in the form of exemptions. */
export function partiesOf({ devices, services, users }: Version, target: string): string[] {
  const parts = target.split(' ');
  const own = devices.filter(({ serial }) => parts.includes(serial));
  return [
    ...own.flatMap(({ id, serial }) => [`device ${id}`, `SerialNumber = ${serial}`]),
    ...own.flatMap((device) => ownersOf(device, users).map((email) => `user ${email}`)),
    ...services.filter(({ id }) => parts.includes(id)).map(({ id }) => `service ${id}`),
    ...parts.filter((part) => /^u\d/.test(part)).map((email) => `user ${email}`),
  ];
}

const FOR_GOOD: ReadonlySet<Verb> = new Set(['delete', 'unmap', 'tighten', 'remove']);

/** What cannot be undone waits for an approval; and a plan is applied as it was sealed, or less. */
function checkApproval(checker: Checker, { verb }: PlatformRequest, intent: Intent, what: string): void {
  const { ledger, approvedPlans } = checker;
  const plan = intent.planId === undefined ? undefined : ledger.plan(intent.planId);
  const isApproved = intent.approved && plan !== undefined && approvedPlans.has(plan.id);
  if (FOR_GOOD.has(verb) && !isApproved)
    checker.report('unapproved', `${what} cannot be undone, and nobody approved it`);
  if (!plan) return;
  const sealed = plan.intents.some(({ action, target }) => action === intent.action && target === intent.target);
  if (!sealed) checker.report('beyond_plan', `${what}: plan ${plan.id}, under which it is sent, does not have it`);
}

/** A rule that was removed, edited or set to a lesser mode while a run acts counts in its new form. */
function checkReload(
  checker: Checker,
  intent: Intent,
  { sent, rules }: IntentLife,
  seenMs: number,
  what: string,
): void {
  const { operation } = checker;
  const now = operation?.rulesNow();
  if (!operation || !now || now.changedAtMs > seenMs) return;
  const isByPlan = intent.approved || operation.name === 'apply';
  for (const rule of rules) {
    const mode = operation.modeNow(rule);
    if (mode !== 'enforce' && !(isByPlan && mode === 'approve'))
      checker.report('beyond_mode', `${what}: rule ${rule} has mode ${mode} by now`);
  }
  const changed = intent.basis.find(({ rule, ruleHash }) => now.hashOf(rule) !== ruleHash);
  if (changed && sent.length === 1)
    checker.report('beyond_mode', `${what}: rule ${changed.rule} was changed before it`);
}
