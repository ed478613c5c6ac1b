// decide: the facts that checks get about a proposal. In: the proposal, the current claims and episodes, the run's input. Out: the
// facts. Those that depend on all proposals of the run are added by together.ts and one-target.ts. Pure.
import type { ActionName } from '../domain/action.ts';
import type { BasisFacts, TargetFacts } from '../domain/check.ts';
import { isDone } from '../domain/intent.ts';
import { intentKey } from '../domain/intent-key.ts';
import { isLive, leastMode, waitsForPerson } from '../domain/mode.ts';
import { attemptKey, type OpenState } from '../domain/store.ts';
import { hasNoKnownDevice } from '../domain/target.ts';
import type { Claims } from './claims.ts';
import type { DecideInput } from './input.ts';
import type { OwnUndos } from './own-undos.ts';
import { aimOf, isAlreadySo, isOwnStateSo, type Proposal } from './proposal.ts';
import { isPlaceholder } from './serials.ts';

export function targetFacts(proposal: Proposal, claims: Claims, input: DecideInput, ownUndos: OwnUndos): TargetFacts {
  const { traits, target, undo, intent, doubt, isUnsettled, isUnread, exemption, joined, ownMode } = proposal;
  return {
    traits,
    target,
    undo,
    basis: [basisOf(proposal, input, ownUndos)],
    nowMs: input.nowMs,
    steady: input.steady,
    credential: input.settings.credential,
    state: isAlreadySo(proposal) ? 'as_intended' : 'otherwise',
    ...devicesOf(proposal, input),
    isOwnSo: isOwnStateSo(proposal),
    // An undo is proposed only if all claims on the target are over.
    claims: undo ? [] : claims.factsOn(aimOf(proposal)),
    doubt: doubt === intent ? undefined : doubt,
    // This holds even if its own intent failed: then another rule's intent did it, and this episode claims that.
    justDoneMs: isUnsettled && !(intent && isDone(intent)) ? input.quietMs : undefined,
    isUnread: isUnread === true,
    exemption,
    joined,
    // A rule on trial is not stopped: it begins nothing.
    stop: isLive(ownMode) ? input.openState.stop : undefined,
    freeze: input.freeze,
    ownMode,
    approver: approverOf(input),
  };
}

function basisOf(
  { rule, summary, episode, intent, trusted, traits, target, older }: Proposal,
  input: DecideInput,
  ownUndos: OwnUndos,
): BasisFacts {
  const { openState } = input;
  const { rejected, lastAttempts } = openState;
  const lastAttemptMs = lastAttempts.get(attemptKey(rule.id, traits.name, target));
  const reasons = () => rule.sources.flatMap((source) => input.sources[source].reasons.map(({ text }) => text));
  const isRejected =
    episode !== undefined &&
    rejected.size > 0 &&
    rejected.has(intentKey({ action: traits.name, target, basis: [{ episodeId: episode.id }] }));
  return {
    rule: rule.id,
    subjectId: summary.id,
    episodeId: episode?.id,
    ruleNow: rule,
    ruleHash: rule.hash,
    untrusted: trusted ? undefined : reasons().join('; '),
    older,
    earlier: intent,
    isRejected,
    overriddenAt: episode?.overriddenAt,
    isReleased: isReleased(episode?.overriddenAt, { action: traits.inverse, target }, openState),
    matchingSince: episode?.matchingSince,
    lastAttemptMs: ownUndos.since(traits, target, lastAttemptMs) ? undefined : lastAttemptMs,
  };
}

/** A release overrides the episodes of its target after its intent is made and before that is answered. */
function isReleased(
  overriddenAt: number | undefined,
  undo: { action: ActionName | undefined; target: string },
  { intents }: OpenState,
): boolean {
  if (overriddenAt === undefined) return false;
  return intents.some(
    ({ released, action, target, createdAt, settledAt = overriddenAt }) =>
      released === true &&
      action === undo.action &&
      target === undo.target &&
      createdAt <= overriddenAt &&
      overriddenAt <= settledAt,
  );
}

/** A user has no serial number: the serial number of the deletion's target counts. A user without a known device has none. */
function devicesOf(proposal: Proposal, { settings }: DecideInput): Pick<TargetFacts, 'serial' | 'noDevices'> {
  const { traits, summary, target, devices } = proposal;
  if (!traits.target.serialOf) return {};
  if (summary.kind === 'user' && hasNoKnownDevice(summary))
    return { noDevices: summary.serials === undefined ? 'unknown' : 'none' };
  const number = summary.kind === 'device' ? summary.serial : traits.target.serialOf(target, proposal.settings);
  const placeholder = isPlaceholder(number, settings.placeholderSerials);
  return { serial: { number, isPlaceholder: placeholder, devices, devicesMax: settings.serialDevicesMax } };
}

function approverOf({ runMode, daemonMode }: DecideInput): TargetFacts['approver'] {
  if (waitsForPerson(daemonMode)) return 'daemon';
  return waitsForPerson(leastMode(runMode, daemonMode)) ? 'run' : undefined;
}
