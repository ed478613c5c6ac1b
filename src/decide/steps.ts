// decide, third step: the questions asked about one wish, in the design's order. The first that applies answers.
// Each is one small function: Proposal → Answer, or undefined to go on.
import { formatDuration } from '../domain/duration.ts';
import { exemptionText } from '../domain/exemption.ts';
import { intentKey, isDone } from '../domain/intent.ts';
import { wallElapsedMs } from '../domain/steady-time.ts';
import { attemptKey } from '../domain/store.ts';
import { hasNoKnownDevice } from '../domain/target.ts';
import { isoTime } from '../domain/time-text.ts';
import type { DecideInput } from './input.ts';
import { type Answer, hold, isAlreadySo, isOwnStateSo, type Proposal, skip } from './proposal.ts';
import { disagreement, isPlaceholder } from './serials.ts';

type Step = (proposal: Proposal, input: DecideInput) => Answer | undefined;

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

export function answerAlone(proposal: Proposal, input: DecideInput): Answer | undefined {
  for (const step of STEPS) {
    const answer = step(proposal, input);
    if (answer) return answer;
  }
  return undefined;
}

function untrustedSource(proposal: Proposal, input: DecideInput): Answer | undefined {
  if (proposal.trusted) return undefined;
  const reasons = proposal.rule.sources.flatMap((source) => input.sources[source].reasons.map((reason) => reason.text));
  return skip('untrusted_source', `nothing is done on untrusted data: ${reasons.join('; ')}`);
}

function exempt({ exemption }: Proposal): Answer | undefined {
  if (exemption === undefined) return undefined;
  return skip('exempt', exemptionText(exemption));
}

function alreadySo(proposal: Proposal): Answer | undefined {
  if (isWithoutDevices(proposal) && proposal.summary.serials !== undefined)
    return skip('already_so', 'no device of theirs is left');
  if (!isAlreadySo(proposal)) return undefined;
  return skip('already_so', `${proposal.traits.fieldWritten} is already ${proposal.traits.valueWritten}`);
}

/** INVARIANT: while it is not known what an intent did to a target, no other one is sent to it, whoever wishes it. */
function inDoubt({ intent, doubt, isUnsettled }: Proposal): Answer | undefined {
  if (doubt !== undefined && doubt !== intent)
    return skip('in_doubt', `intent ${doubt.id} (${doubt.action}) on the same target is not resolved yet`);
  if (intent?.outcome === 'parked')
    return skip('in_doubt', `intent ${intent.id} is parked and needs a person: ${intent.note ?? ''}`);
  if (intent !== undefined && (intent.status !== 'settled' || intent.outcome === 'unknown'))
    return skip('in_doubt', `intent ${intent.id} is not resolved yet`);
  // Also where its own intent failed: then another rule's did it, and it has claimed that.
  if (!isUnsettled || (intent !== undefined && isDone(intent))) return undefined;
  const text = 'it was done just now and is not read so: whether a person reversed it is told after the quiet period';
  return skip('in_doubt', text);
}

function rejected(proposal: Proposal, input: DecideInput): Answer | undefined {
  if (!proposal.episode) return undefined;
  const key = intentKey({
    action: proposal.traits.name,
    target: proposal.target,
    basis: [{ episodeId: proposal.episode.id }],
  });
  return input.openState.rejected.has(key)
    ? skip('rejected', 'a person rejected this for as long as the trouble lasts')
    : undefined;
}

function overridden({ episode, undo }: Proposal): Answer | undefined {
  if (undo || episode?.overriddenAt === undefined) return undefined;
  return skip(
    'overridden',
    `a person reversed it (seen ${isoTime(episode.overriddenAt)}): left alone until the trouble has cleared`,
  );
}

function alreadyActed(proposal: Proposal, input: DecideInput): Answer | undefined {
  const { intent } = proposal;
  if (intent === undefined || !isDone(intent)) return undefined;
  const settledAt = intent.settledAt ?? input.nowMs;
  const when = `done by intent ${intent.id} at ${isoTime(settledAt)}`;
  return skip('already_acted', isOwnStateSo(proposal) ? `${when}; another device of this serial number differs` : when);
}

function forNotReached({ rule, episode, undo }: Proposal, input: DecideInput): Answer | undefined {
  // Without `for` there is nothing to wait for, also after the clock was set back.
  if (undo || !episode || rule.forMs === 0 || input.nowMs - episode.matchingSince >= rule.forMs) return undefined;
  const since = isoTime(episode.matchingSince);
  return skip('for_not_reached', `it must match for ${formatDuration(rule.forMs)}, and has since ${since}`);
}

function cooldown({ rule, traits, target, undo }: Proposal, input: DecideInput): Answer | undefined {
  const last = input.openState.lastAttempts.get(attemptKey(rule.id, traits.name, target));
  if (undo || last === undefined || rule.cooldownMs === 0) return undefined;
  const waitedMs = wallElapsedMs(input.steady, last);
  if (waitedMs >= rule.cooldownMs) return undefined;
  const until = isoTime(input.steady.nowMs - waitedMs + rule.cooldownMs);
  return skip('cooldown', `the last attempt was less than ${formatDuration(rule.cooldownMs)} ago; next at ${until}`);
}

function impossibleTarget(proposal: Proposal, input: DecideInput): Answer | undefined {
  if (!namesSerial(proposal)) return undefined;
  if (isWithoutDevices(proposal)) return skip('impossible_target', 'the server does not say which devices are theirs');
  const serial = serialOf(proposal);
  if (!isPlaceholder(serial, input.settings.placeholderSerials)) return undefined;
  const what =
    serial.trim() === '' ? 'its serial number is empty' : `\`${serial}\` is a placeholder, not a serial number`;
  return skip('impossible_target', `${what}: it would hit devices that have nothing to do with each other`);
}

function serialShared(proposal: Proposal, input: DecideInput): Answer | undefined {
  if (!namesSerial(proposal) || proposal.summary.kind !== 'device' || proposal.undo) return undefined;
  const text = disagreement(proposal.devices, input.settings.serialDevicesMax);
  return text === undefined ? undefined : hold('serial_shared', text);
}

function namesSerial({ traits }: Proposal): boolean {
  return traits.target.serialOf !== undefined;
}

/** A user's deletion without any known device: it has no serial number, and its target is the user. */
function isWithoutDevices(proposal: Proposal): boolean {
  return namesSerial(proposal) && proposal.summary.kind === 'user' && hasNoKnownDevice(proposal.summary);
}

/** A user has no serial number: that of the deletion's target counts. */
function serialOf({ traits, target, summary, settings }: Proposal): string {
  return summary.kind === 'device' ? summary.serial : (traits.target.serialOf?.(target, settings) ?? '');
}
