// harness: when all is quiet: proposals are fulfilled, ended ones are undone, no doubt is open, and every exception has
// a reason that the harness can see for itself.
import type { Claim } from '../../src/domain/episode.ts';
import type { Intent } from '../../src/domain/intent.ts';
import { isAbout } from './check-operator.ts';
import { ROLLED } from './check-rollout.ts';
import type { Checker } from './checker.ts';
import type { Ledger } from './ledger.ts';
import { type Profile, SLOW_QUIET_MS } from './profile.ts';
import { FIELD_OF, USER_RULE } from './rules.ts';
import type { SimClock } from './sim-clock.ts';
import { ACTION_OF, INVERSE_OF, isSo, sightOf, verbOf } from './truth.ts';
import { BUNDLE, type Effect, type Verb, type World } from './world.ts';

export interface FinalView {
  checker: Checker;
  ledger: Ledger;
  world: World;
  clock: SimClock;
  profile: Profile;
}

/** Rules that ban and act: those that enforce, and those with approval (every pending plan was approved). */
const BANNING = Object.keys(FIELD_OF).filter((rule) => rule.startsWith('ban-') && rule !== 'ban-fourth');
const DAY_MS = 86_400_000;

export function checkFinalState(view: FinalView): void {
  const { world, ledger, checker, profile } = view;
  checker.post?.checkNoneWaits();
  for (const intent of ledger.unsettled())
    checker.report('unresolved', `intent ${intent.id} is still ${intent.status}`);
  for (const { id, action, target, basis } of ledger.withOutcome('unknown')) {
    const isBraked = checker.rollouts.isBraked && basis.some(({ rule }) => rule === ROLLED);
    // A retry waits for the ceiling like any other request, and for a person who lets a braked rule go on.
    if (!isBraked && !isAtCeiling(view, verbOf(action, target)))
      checker.report('unresolved', `intent ${id} is still in doubt`);
  }
  for (const serial of new Set(world.now.devices.map((device) => device.serial))) checkSerial(view, serial);
  for (const { id } of world.now.services) {
    if (!isSo(world.now, 'enable', id)) checkUndone(view, 'disable', id);
    if (!isSo(world.now, 'unbundle', `${id} ${BUNDLE}`)) checkUndone(view, 'bundle', `${id} ${BUNDLE}`);
    if (profile.tends) checkTended(view, id);
  }
  if (!profile.people) return;
  for (const { email, serials } of world.now.users) {
    if (sightOf(world.now, USER_RULE, email) !== 'match') continue;
    for (const serial of serials) demand(view, 'unmap', `${serial} ${email}`, USER_RULE, email);
  }
}

function checkSerial(view: FinalView, serial: string): void {
  const { world, profile } = view;
  const devices = world.now.devices.filter((device) => device.serial === serial);
  const sights = devices.flatMap(({ id }) =>
    BANNING.map((rule) => ({ rule, id, sight: sightOf(world.now, rule, id) })),
  );
  if (isSo(world.now, 'ban', serial)) {
    // Including a rule that no longer bans by itself, but did when somebody had edited it.
    const isClaimed = view.ledger
      .openClaims(serial)
      .some(({ rule, subjectId }) => sightOf(world.now, rule, subjectId) !== 'no_match');
    if (!isClaimed && sights.every(({ sight }) => sight === 'no_match')) checkUndone(view, 'ban', serial);
  } else {
    for (const { rule, id, sight } of sights) if (sight === 'match') demand(view, 'ban', serial, rule, id);
  }
  if (!profile.people) return;
  for (const { id } of devices)
    if (sightOf(world.now, 'delete-lost', id) === 'match') demand(view, 'delete', serial, 'delete-lost', id);
}

/** A service in use is not deleted: it must have been disabled first. */
function checkTended(view: FinalView, service: string): void {
  const { now } = view.world;
  const proposals: [Verb, string][] = [['tighten', 'tighten-exposed']];
  if (!isSo(now, 'enable', service)) proposals.push(['remove', 'delete-retired']);
  for (const [verb, rule] of proposals)
    if (!isSo(now, verb, service) && sightOf(now, rule, service) === 'match')
      demand(view, verb, service, rule, service);
}

function demand(view: FinalView, verb: Verb, target: string, rule: string, subject: string): void {
  if (whyNot(view, verb, target, rule, subject) === undefined)
    view.checker.report('lost', `${subject} has the trouble of ${rule}, and ${ACTION_OF[verb]} ${target} is not done`);
}

/** A good reason for an unfulfilled proposal, seen from outside; undefined: it was lost. */
function whyNot(view: FinalView, verb: Verb, target: string, rule: string, subject: string): string | undefined {
  const { ledger } = view;
  if (isAtCeiling(view, verb)) return 'ceiling';
  if (rule === ROLLED && view.checker.rollouts.isBraked) return 'braked';
  if (isExempt(view, target)) return 'exempt';
  if (waitsForOther(view, verb, target)) return 'other first';
  const episode = ledger.openEpisode(rule, subject);
  if (!episode) return undefined;
  const id = String(episode.id);
  const intents = ledger.liveIntents(id).filter((intent) => intent.action === ACTION_OF[verb]);
  const isActedOn = intents.some(({ outcome }) => outcome === 'succeeded' || outcome === 'confirmed');
  const isReversed =
    reversalsOf(view, verb, target).length > 0 || isReleased(view, target) || isBroughtBackInDoubt(view, target);
  // Somebody gave the device to that person again: there is no effect of theirs for that.
  const isGivenAgain =
    verb === 'unmap' &&
    view.world.effects.some(
      (one) => one.target === target && one.verb === verb && one.changed && one.request !== undefined,
    );
  if ((episode.overridden_at !== null || isActedOn) && (isReversed || isGivenAgain)) return 'overridden';
  if (ledger.isRejected(id)) return 'rejected';
  // Told by a clock that was ahead.
  const sql = 'SELECT 1 FROM notices WHERE (episode_id = ? OR target = ?) AND open = 1 AND due_at > ?';
  if (ledger.db.get(sql, id, target, view.clock.nowMs())) return 'warned';
  return intents.some((intent) => isParkedForCause(view, intent)) ? 'parked' : undefined;
}

/** States without a proposal: a person's stays; Trustward's is undone, or there is a reason. */
function checkUndone(view: FinalView, verb: Verb, target: string): void {
  const { world, ledger, checker } = view;
  const last = world.effects.findLast((effect) => effect.target === target && effect.verb === verb && effect.changed);
  if (!last || last.request === undefined || isBeyondQuiet(view, last)) return;
  const own = [...ledger.intents.values()].find((life) => life.requests.some(({ number }) => number === last.request));
  const lives = [...ledger.intents.values()].filter((life) => life.target === target);
  const parked = lives.map(({ id }) => ledger.intent(id)).some((intent) => intent && isParkedForCause(view, intent));
  if (parked || isAtCeiling(view, INVERSE_OF[verb])) return;
  // A server that reports an effect, and allows no read-back, is believed: also when the one that it reported before comes later.
  const { request } = last;
  const undoing = lives.flatMap((life) => (life.action === ACTION_OF[INVERSE_OF[verb]] ? life.requests : []));
  const isBelieved = undoing.some(({ number, answer }) => number > request && answer === 'done');
  if (isBelieved && !checker.canBeReadBack(ACTION_OF[verb])) return;
  const since = own?.sent[0] ?? 0;
  if (world.effects.some((effect) => isByPerson(effect, target) && effect.atMs >= since - 60_000)) return;
  // A rule that is on trial again, but acted when somebody had edited it, undoes nothing by itself.
  const isOnTrial = ({ rule }: Claim) => rule === 'ban-fourth';
  if (ledger.openClaims(target).some((claim) => isOnTrial(claim) || ledger.isRejected(claim.episodeId))) return;
  checker.report(
    'lost',
    `${target}: the trouble is over, and ${ACTION_OF[verb]} of request ${last.request} is not undone`,
  );
}

function isExempt({ ledger, world }: FinalView, target: string): boolean {
  return [...ledger.exemptions.values()].some(
    ({ about, toMs }) => toMs === Number.POSITIVE_INFINITY && isAbout(about, world.now, target),
  );
}

/** A deletion waits for every other proposal and undo of its target. */
function waitsForOther({ world, ledger }: FinalView, verb: Verb, target: string): boolean {
  if (verb === 'remove')
    return sightOf(world.now, 'tighten-exposed', target) === 'match' || ledger.openClaims(target).length > 0;
  if (verb !== 'delete') return false;
  const own = world.now.devices.filter(({ serial }) => serial === target);
  if (!isSo(world.now, 'ban', target))
    return own.some(({ id }) => BANNING.some((rule) => sightOf(world.now, rule, id) === 'match'));
  return ledger.openClaims(target).some(({ rule, subjectId }) => sightOf(world.now, rule, subjectId) !== 'match');
}

function isReleased({ ledger }: FinalView, target: string): boolean {
  return ledger.released.some((release) => release.target === target);
}

/** An effect that comes later than the quiet period looks like a person's change. */
function isBeyondQuiet({ checker }: FinalView, effect: Effect): boolean {
  const request = checker.requests.find(({ number }) => number === effect.request);
  return request !== undefined && effect.atMs - request.atMs > SLOW_QUIET_MS;
}

function reversalsOf(view: FinalView, verb: Verb, target: string): Effect[] {
  const { world } = view;
  const isLater = (effect: Effect) => effect.target === target && effect.changed && isBeyondQuiet(view, effect);
  return world.effects.filter(
    (effect) => (isByPerson(effect, target) || isLater(effect)) && effect.verb === INVERSE_OF[verb],
  );
}

/** People enrolled it again while our deletion was in doubt, or after a doubt that a person resolved: this cannot be distinguished from their reversal. */
function isBroughtBackInDoubt({ ledger, world }: FinalView, target: string): boolean {
  const back = world.effects.filter((effect) => effect.verb === 'enroll' && effect.target === target);
  const deletions = [...ledger.intents.values()].filter(
    (life) => life.action.startsWith('delete_') && life.target === target,
  );
  return deletions.some(({ settled }) =>
    back.some(
      ({ atMs }) =>
        settled.findLast((one) => one.atMs <= atMs)?.outcome === 'unknown' ||
        settled.some((one) => one.outcome === 'parked' && atMs <= one.atMs),
    ),
  );
}

function isByPerson(effect: Effect, target: string): boolean {
  return effect.target === target && effect.request === undefined && effect.changed;
}

/** Parked after a doubt, a person's retry, or the allowed refusals; at once, when nothing could show whether it was done. */
function isParkedForCause({ ledger, checker }: FinalView, intent: Intent): boolean {
  if (intent.outcome !== 'parked') return false;
  const life = ledger.intents.get(intent.id);
  const refusals = life?.requests.filter(({ answer }) => answer === 'failed').length ?? 0;
  if (!checker.canBeReadBack(intent.action) && life?.requests.at(-1)?.answer === 'doubtful') return true;
  // What a person retries is in doubt from then on, also if it had failed.
  if (life && life.allowed.length > 0) return true;
  return refusals >= 3 || (life?.settled.some(({ outcome }) => outcome === 'unknown') ?? false);
}

function isAtCeiling({ ledger, clock, profile }: FinalView, verb: Verb): boolean {
  return ledger.attemptsSince(ACTION_OF[verb], clock.nowMs() - DAY_MS) >= profile.dayCeiling;
}
