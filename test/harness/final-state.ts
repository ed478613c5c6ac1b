// harness: when all is quiet: what was wished is so, what was wished no more is undone, no doubt is left open, and whatever
// is not as it should be has a reason that the harness can see for itself.
import type { Intent } from '../../src/domain/intent.ts';
import type { Checker } from './checker.ts';
import type { Ledger } from './ledger.ts';
import type { Profile } from './profile.ts';
import { FIELD_OF } from './rules.ts';
import type { SimClock } from './sim-clock.ts';
import { ACTION_OF, deviceSight, INVERSE_OF, isSo, VERB_OF } from './truth.ts';
import type { Effect, Verb, World } from './world.ts';

export interface FinalView {
  checker: Checker;
  ledger: Ledger;
  world: World;
  clock: SimClock;
  profile: Profile;
}

/** Rules whose wishes are carried out: those that enforce, and those to be approved (everything pending was approved). */
const WISHING = Object.keys(FIELD_OF).filter((rule) => rule !== 'ban-fourth');
const DAY_MS = 86_400_000;

export function checkFinalState(view: FinalView): void {
  const { world, ledger, checker } = view;
  for (const intent of ledger.unsettled())
    checker.report('unresolved', `intent ${intent.id} is still ${intent.status}`);
  for (const { id, action } of ledger.withOutcome('unknown')) {
    // A retry waits for the ceiling like any other request.
    if (!isAtCeiling(view, VERB_OF[action] as Verb)) checker.report('unresolved', `intent ${id} is still in doubt`);
  }
  for (const serial of new Set(world.now.devices.map((device) => device.serial))) checkSerial(view, serial);
  for (const { id } of world.now.services) {
    if (!isSo(world.now, 'enable', id)) checkUndone(view, 'disable', id);
  }
}

function checkSerial(view: FinalView, serial: string): void {
  const { world, checker } = view;
  const devices = world.now.devices.filter((device) => device.serial === serial);
  const sights = devices.flatMap(({ id }) =>
    WISHING.map((rule) => ({ rule, id, sight: deviceSight(world.now, rule, id) })),
  );
  const wishes = sights.filter(({ sight }) => sight === 'match');
  if (isSo(world.now, 'ban', serial)) {
    if (sights.every(({ sight }) => sight === 'no_match')) checkUndone(view, 'ban', serial);
    return;
  }
  for (const { rule, id } of wishes) {
    if (whyNot(view, 'ban', serial, rule, id) === undefined) {
      checker.report('lost', `${id} (${serial}) has the trouble of ${rule} and is not banned`);
    }
  }
}

/** A good reason for which a wish is not fulfilled, seen from outside; undefined: it was lost. */
function whyNot(view: FinalView, verb: Verb, target: string, rule: string, subject: string): string | undefined {
  const { ledger } = view;
  if (isAtCeiling(view, verb)) return 'ceiling';
  const episode = ledger.openEpisode(rule, subject);
  if (!episode) return undefined;
  const id = String(episode.id);
  const intents = ledger.liveIntents(id).filter((intent) => intent.action === ACTION_OF[verb]);
  const isActedOn = intents.some(({ outcome }) => outcome === 'succeeded' || outcome === 'confirmed');
  if ((episode.overridden_at !== null || isActedOn) && reversalsOf(view, verb, target).length > 0) return 'overridden';
  if (ledger.isRejected(id)) return 'rejected';
  return intents.some((intent) => isParkedForCause(view, intent)) ? 'parked' : undefined;
}

/** What stands though nobody wishes it: a person's doing stays; Trustward's is undone, or there is a reason. */
function checkUndone(view: FinalView, verb: Verb, target: string): void {
  const { world, ledger, checker } = view;
  const last = world.effects.findLast((effect) => effect.target === target && effect.verb === verb && effect.changed);
  if (!last || last.request === undefined) return;
  const own = [...ledger.intents.values()].find((life) => life.requests.some(({ number }) => number === last.request));
  const intents = [...ledger.intents.values()]
    .filter((life) => life.target === target)
    .map(({ id }) => ledger.intent(id));
  const parked = intents.some((intent) => intent && isParkedForCause(view, intent));
  if (parked || isAtCeiling(view, INVERSE_OF[verb])) return;
  const since = own?.sent[0] ?? 0;
  if (world.effects.some((effect) => isByPerson(effect, target) && effect.atMs >= since - 60_000)) return;
  if (ledger.openClaims(target).some(({ episodeId }) => ledger.isRejected(episodeId))) return;
  checker.report(
    'lost',
    `${target}: the trouble is over, and ${ACTION_OF[verb]} of request ${last.request} is not undone`,
  );
}

function reversalsOf({ world }: FinalView, verb: Verb, target: string): Effect[] {
  return world.effects.filter((effect) => isByPerson(effect, target) && effect.verb === INVERSE_OF[verb]);
}

function isByPerson(effect: Effect, target: string): boolean {
  return effect.target === target && effect.request === undefined && effect.changed;
}

/** Parked after a doubt, or after as many refusals as are allowed. */
function isParkedForCause({ ledger }: FinalView, intent: Intent): boolean {
  if (intent.outcome !== 'parked') return false;
  const life = ledger.intents.get(intent.id);
  const refusals = life?.requests.filter(({ answer }) => answer === 'failed').length ?? 0;
  return refusals >= 3 || (life?.settled.some(({ outcome }) => outcome === 'unknown') ?? false);
}

function isAtCeiling({ ledger, clock, profile }: FinalView, verb: Verb): boolean {
  return ledger.attemptsSince(ACTION_OF[verb], clock.nowMs() - DAY_MS) >= profile.dayCeiling;
}
