// decide, third step: the questions asked about one wish, in the design's order. The first that applies answers.
// Each is one small function: Wish → Answer, or undefined to go on.
import { deletionTarget } from '../domain/deletion.ts';
import { formatDuration } from '../domain/duration.ts';
import { exemptionText } from '../domain/exemption.ts';
import { intentKey, isDone } from '../domain/intent.ts';
import { wallElapsedMs } from '../domain/steady-time.ts';
import { attemptKey } from '../domain/store.ts';
import { isoTime } from '../domain/time-text.ts';
import type { DecideInput } from './input.ts';
import { type Answer, hold, isAlreadySo, isOwnStateSo, skip, type Wish } from './proposal.ts';
import { hasNoKnownDevice } from './proposals.ts';
import { disagreement, isPlaceholder } from './serials.ts';

type Step = (wish: Wish, input: DecideInput) => Answer | undefined;

const STEPS: readonly Step[] = [
  untrustedSource,
  exempt,
  alreadySo,
  inDoubt,
  rejected,
  overridden,
  alreadyActed,
  forNotReached,
  cooldown,
  impossibleTarget,
  serialShared,
];

export function answerAlone(wish: Wish, input: DecideInput): Answer | undefined {
  for (const step of STEPS) {
    const answer = step(wish, input);
    if (answer) return answer;
  }
  return undefined;
}

function untrustedSource(wish: Wish, input: DecideInput): Answer | undefined {
  if (wish.trusted) return undefined;
  const reasons = wish.rule.sources.flatMap((source) => input.sources[source].reasons.map((reason) => reason.text));
  return skip('untrusted_source', `nothing is done on untrusted data: ${reasons.join('; ')}`);
}

function exempt({ exemption }: Wish): Answer | undefined {
  if (exemption === undefined) return undefined;
  return skip('exempt', exemptionText(exemption));
}

function alreadySo(wish: Wish): Answer | undefined {
  if (isWithoutDevices(wish) && wish.card.serials !== undefined)
    return skip('already_so', 'no device of theirs is left');
  if (!isAlreadySo(wish)) return undefined;
  return skip('already_so', `${wish.traits.fieldWritten} is already ${wish.traits.valueWritten}`);
}

/** INVARIANT: while it is not known what an intent did to a target, no other one is sent to it, whoever wishes it. */
function inDoubt({ intent, doubt, isUntold }: Wish): Answer | undefined {
  if (doubt !== undefined && doubt !== intent)
    return skip('in_doubt', `intent ${doubt.id} (${doubt.action}) on the same target is not resolved yet`);
  if (intent?.outcome === 'parked')
    return skip('in_doubt', `intent ${intent.id} is parked and needs a person: ${intent.note ?? ''}`);
  if (intent !== undefined && (intent.status !== 'settled' || intent.outcome === 'unknown'))
    return skip('in_doubt', `intent ${intent.id} is not resolved yet`);
  // Also where its own intent failed: then another rule's did it, and it has claimed that.
  if (!isUntold || (intent !== undefined && isDone(intent))) return undefined;
  const text = 'it was done just now and is not read so: whether a person reversed it is told after the quiet period';
  return skip('in_doubt', text);
}

function rejected(wish: Wish, input: DecideInput): Answer | undefined {
  if (!wish.episode) return undefined;
  const key = intentKey({ action: wish.traits.name, target: wish.target, basis: [{ episodeId: wish.episode.id }] });
  return input.standing.rejected.has(key)
    ? skip('rejected', 'a person rejected this for as long as the trouble lasts')
    : undefined;
}

function overridden({ episode, undo }: Wish): Answer | undefined {
  if (undo || episode?.overriddenAt === undefined) return undefined;
  return skip(
    'overridden',
    `a person reversed it (seen ${isoTime(episode.overriddenAt)}): left alone until the trouble has cleared`,
  );
}

function alreadyActed(wish: Wish, input: DecideInput): Answer | undefined {
  const { intent } = wish;
  if (intent === undefined || !isDone(intent)) return undefined;
  const settledAt = intent.settledAt ?? input.nowMs;
  const when = `done by intent ${intent.id} at ${isoTime(settledAt)}`;
  return skip('already_acted', isOwnStateSo(wish) ? `${when}; another device of this serial number differs` : when);
}

function forNotReached({ rule, episode, undo }: Wish, input: DecideInput): Answer | undefined {
  // Without `for` there is nothing to wait for, also after the clock was set back.
  if (undo || !episode || rule.forMs === 0 || input.nowMs - episode.matchingSince >= rule.forMs) return undefined;
  const since = isoTime(episode.matchingSince);
  return skip('for_not_reached', `it must match for ${formatDuration(rule.forMs)}, and has since ${since}`);
}

function cooldown({ rule, traits, target, undo }: Wish, input: DecideInput): Answer | undefined {
  const last = input.standing.lastAttempts.get(attemptKey(rule.id, traits.name, target));
  if (undo || last === undefined || rule.cooldownMs === 0) return undefined;
  const waitedMs = wallElapsedMs(input.steady, last);
  if (waitedMs >= rule.cooldownMs) return undefined;
  const until = isoTime(input.steady.nowMs - waitedMs + rule.cooldownMs);
  return skip('cooldown', `the last attempt was less than ${formatDuration(rule.cooldownMs)} ago; next at ${until}`);
}

function impossibleTarget(wish: Wish, input: DecideInput): Answer | undefined {
  if (!namesSerial(wish)) return undefined;
  if (isWithoutDevices(wish)) return skip('impossible_target', 'the server does not say which devices are theirs');
  const serial = serialOf(wish);
  if (!isPlaceholder(serial, input.settings.placeholderSerials)) return undefined;
  const what =
    serial.trim() === '' ? 'its serial number is empty' : `\`${serial}\` is a placeholder, not a serial number`;
  return skip('impossible_target', `${what}: it would hit devices that have nothing to do with each other`);
}

function serialShared(wish: Wish, input: DecideInput): Answer | undefined {
  if (!namesSerial(wish) || wish.card.kind !== 'device' || wish.undo) return undefined;
  const text = disagreement(wish.devices, input.settings.serialDevicesMax);
  return text === undefined ? undefined : hold('serial_shared', text);
}

function namesSerial({ traits, card }: Wish): boolean {
  return traits.changesFleet && card.kind !== 'service';
}

/** A user's deletion without any known device: it has no serial number, and its target is the user. */
function isWithoutDevices(wish: Wish): boolean {
  return namesSerial(wish) && wish.card.kind === 'user' && hasNoKnownDevice(wish.card);
}

/** A user has no serial number: that of the deletion's target counts. */
function serialOf(wish: Wish): string {
  return wish.card.kind === 'device' ? wish.card.serial : deletionTarget(wish.target, wish.settings).serial;
}
