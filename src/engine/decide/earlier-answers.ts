// decide: earlier runs' answers about a target that this run cannot ask again: what rules that are not judged now still propose,
// and which proposal preflight withdrew. In: the decisions in force. Out: answers for answer.ts. Pure.
import { type ActionOnTarget, type ActionTraits, keyOf, targetKey } from '../../domain/action.ts';
import type { ReasonCode, StoredDecision } from '../../domain/decision.ts';
import { intentKey } from '../../domain/digest.ts';
import { isDone } from '../../domain/intent.ts';
import { actsAlone, type Mode, waitsForPerson } from '../../domain/rule.ts';
import { type DecideInput, ownModeOf } from './input.ts';
import { aimOf, type Proposal } from './proposal.ts';

type EarlierAnswersInput = Pick<
  DecideInput,
  'judged' | 'activeRules' | 'traits' | 'openState' | 'said' | 'runMode' | 'daemonMode' | 'part'
>;

/** A proposal that this run does not make again: it does not judge the rule, or has not read the subject. */
export interface ProposalInForce {
  rule: { id: string };
  traits: ActionTraits;
  ownMode: Mode;
  undo: boolean;
  said: StoredDecision;
}

/** Answers of a proposal that would be weighed again: from the shared serial number on, in the order of deciding. */
const WEIGHED: ReadonlySet<ReasonCode> = new Set([
  'serial_shared',
  'joined_later',
  'guarded',
  'last_device',
  'devices_of_a_day',
  'conflict',
  'other_first',
  'limits',
  'owners',
  'approval_needed',
  'rule_matches',
  'matches_again',
  'cleared',
  'ceiling',
  'drifted',
  'stopped',
  'frozen',
  'notice',
  'notice_undelivered',
]);

/** Preflight refusals that recur while the list and the single record disagree. */
const LASTING: ReadonlySet<ReasonCode> = new Set(['drifted', 'impossible_target', 'already_so']);

export class EarlierAnswers {
  private readonly inForce = new Map<string, ProposalInForce[]>();
  private readonly givenUp = new Map<string, StoredDecision>();
  private live: ReadonlySet<string> | undefined;

  constructor(private readonly input: EarlierAnswersInput) {
    const judged = new Set(input.judged.map(({ id }) => id));
    const open = new Set(
      input.openState.episodes.flatMap((one) =>
        one.state !== 'closed' && one.overriddenAt === undefined ? one.id : [],
      ),
    );
    for (const said of input.said ?? input.openState.decisions) {
      const isAskedAgain = judged.has(said.rule) && (input.part === undefined || input.part.hasRead(said.subject));
      if (isAskedAgain) this.noteGivenUp(said);
      else if (input.activeRules.has(said.rule)) this.noteInForce(said, open);
    }
  }

  /** Proposals that this run does not make again: its rules were not chosen, a source or the subject was not read. */
  on(aim: ActionOnTarget): readonly ProposalInForce[] {
    return this.inForce.get(targetKey(aim, this.input.traits)) ?? [];
  }

  /**
   * Whether it acts by itself, and preflight withdrew it for a reason that will recur. A deletion gains nothing by waiting for it.
   * A proposal that a person is asked about keeps others waiting: that person can reject it.
   */
  wasGivenUp(proposal: Proposal): boolean {
    const { runMode, daemonMode } = this.input;
    if (!actsAlone(proposal.ownMode) || waitsForPerson(runMode) || waitsForPerson(daemonMode)) return false;
    const said = this.givenUp.get(wordKey(proposal.rule.id, proposal.summary.id, aimOf(proposal)));
    return said !== undefined && said.ruleHash === proposal.rule.hash && said.episodeId === proposal.episode?.id;
  }

  /** Asked for each of thousands of lasting bans. */
  private liveIntents(): ReadonlySet<string> {
    this.live ??= new Set(this.input.openState.intents.map(({ id }) => id));
    return this.live;
  }

  private noteGivenUp(said: StoredDecision): void {
    // Deciding answers `already_so` as well, where a live intent did it. A withdrawn intent is not live.
    if (said.decision !== 'skip' || said.intentId === undefined || !LASTING.has(said.reason)) return;
    if (said.reason === 'already_so' && this.liveIntents().has(said.intentId)) return;
    this.givenUp.set(wordKey(said.rule, said.subject.id, said), said);
  }

  private noteInForce(said: StoredDecision, open: ReadonlySet<string>): void {
    const traits = this.input.traits.get(said.action);
    const undo = said.verdict === 'no_match';
    if (!traits?.changesFleet || !(WEIGHED.has(said.reason) || said.reason === 'already_so')) return;
    if (!undo && (said.episodeId === undefined || !open.has(said.episodeId))) return;
    if (this.isAnswered(said)) return;
    const key = keyOf(traits, said.target, traits.target.settingsOf?.(said.subject) ?? {});
    const proposal = { rule: { id: said.rule }, traits, ownMode: ownModeOf(said), undo, said };
    this.inForce.set(key, [...(this.inForce.get(key) ?? []), proposal]);
  }

  /** A person rejected it, or it is parked and not tried again by itself. */
  private isAnswered({ action, target, episodeId, outcome }: StoredDecision): boolean {
    if (outcome === 'parked') return true;
    return this.input.openState.rejected.has(intentKey({ action, target, basis: [{ episodeId: episodeId ?? '' }] }));
  }
}

/** The target is already in its state: it opposes the contrary proposal, and is not about to be done. */
export function isSo({ said: { reason, outcome } }: ProposalInForce): boolean {
  return reason === 'already_so' || isDone({ outcome });
}

export function isStillToBeDone(other: ProposalInForce): boolean {
  return !isSo(other) && other.said.reason !== 'conflict' && other.said.reason !== 'drifted';
}

/** One key for each decision in force. */
export function wordKey(
  rule: string,
  subject: string,
  { action, target }: Pick<StoredDecision, 'action' | 'target'>,
): string {
  return [rule, subject, action, target].join('\u0000');
}

// Serial numbers that name no device.

/** What firmware writes when nobody set a serial number. Compared without case and surrounding space. */
export const PLACEHOLDER_SERIALS: readonly string[] = [
  '0',
  '00000000',
  '0123456789',
  '123456789',
  '1234567890',
  'chassis serial number',
  'default',
  'default string',
  'empty',
  'invalid',
  'n/a',
  'na',
  'none',
  'not applicable',
  'not available',
  'not specified',
  'null',
  'o.e.m.',
  'oem',
  'serial',
  'serial number',
  'system serial number',
  'to be filled by o.e.m.',
  'undefined',
  'unknown',
  'xxxxxxxx',
];

export function isPlaceholder(serial: string, placeholders: readonly string[]): boolean {
  const text = serial.trim().toLowerCase();
  return text === '' || /^(.)\1*$/.test(text) || placeholders.includes(text);
}
