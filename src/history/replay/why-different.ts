// history: why a replay cannot give a decision that was made: what the record lacks. In: a run, what is known of the record at its time. Out: a
// reason for a difference, or undefined: then it is a fault of Trustward. INVARIANT: each reason is something that the record itself shows.
import { Exemptions } from '../../decide/exemptions.ts';
import { LOOK_BACK_GAP_MS } from '../../domain/look-back.ts';
import type { HistoryGap, RecordedRun, RunFrame } from '../../domain/recorded-history.ts';
import { SOURCE_OF, type Source, type SubjectKind } from '../../domain/subjects.ts';
import { timeText } from '../../domain/time-text.ts';
import type { LoadedRule } from '../../evaluate/index.ts';
import type { DecisionDiffers } from './decisions-compared.ts';
import type { RecordedWorld } from './recorded-world.ts';

/** Windows keep events for so long after they have left (evaluate/events/windows.ts). */
const SET_BACK_MAX_MS = 3_600_000;

export interface KnownOfRun {
  run: RecordedRun;
  world: RecordedWorld;
  rules: readonly LoadedRule[];
  /** What this version cannot read of the recorded rules, one line each. */
  problems: readonly string[];
  /** All gaps until then. */
  gaps: readonly HistoryGap[];
  /** A gap whose changes are lost, and after which nobody knows the whole state. */
  lost: HistoryGap | undefined;
  /** The latest time of an earlier run. */
  latestMs: number;
  /** Earlier runs, which rules look back on, are not in the record. */
  beginsMs: number | undefined;
}

export interface ExplainedDifference {
  differs: DecisionDiffers;
  /** Undefined: nothing in the record explains it. */
  why: string | undefined;
}

/** Rules that are about one target decide it together: what explains one of them explains the others. */
export function explainedDifferences(all: readonly DecisionDiffers[], known: KnownOfRun): ExplainedDifference[] {
  const found = all.map((differs) => ({ differs, why: whyDifferent(differs, known) }));
  return found.map(({ differs, why }) => ({
    differs,
    why: why ?? found.find((other) => other.why !== undefined && other.differs.target === differs.target)?.why,
  }));
}

function whyDifferent(differs: DecisionDiffers, known: KnownOfRun): string | undefined {
  const { run, rules, problems, lost } = known;
  if (lost) return lost.text;
  if (problems.length > 0) return `this version cannot read the rules of that time: ${problems[0]}`;
  const rule = rules.find(({ id }) => id === differs.rule);
  return (
    ofLists(rule, run.frame) ??
    ofSecrets(rule, known) ??
    ofForgotten(differs, rule, known) ??
    ofWindows(rule, known) ??
    ofLookBack(rule, known) ??
    ofExemptions(run)
  );
}

/** Limits, joins and the decisions of others counted it, until it was removed; so do windows that reach back to then. */
function ofForgotten(
  { was, rule: id }: DecisionDiffers,
  rule: LoadedRule | undefined,
  { gaps, run }: KnownOfRun,
): string | undefined {
  const { startedAt } = run.frame.run;
  // A removed decision may have been in force in later runs, and what ended it names no rule.
  if (was === undefined || id === '') {
    const before = gaps.find(({ cause, fromMs }) => cause === 'forgotten' && fromMs <= startedAt);
    if (before) return before.text;
  }
  const windowMs = rule?.reads.events ? rule.reads.windowMs : 0;
  return gaps.find(
    ({ cause, fromMs, toMs }) => cause === 'forgotten' && fromMs <= startedAt && startedAt <= toMs + windowMs,
  )?.text;
}

function ofLists(rule: LoadedRule | undefined, { sources }: RunFrame): string | undefined {
  for (const source of rule?.sources ?? []) {
    const twice = sources[source].reasons.find(({ code }) => code === 'repeated_key');
    if (twice) return `a record of facts has each subject once: ${twice.text}`;
  }
  return undefined;
}

function ofSecrets(rule: LoadedRule | undefined, { world }: KnownOfRun): string | undefined {
  if (!rule) return undefined;
  const read: [SubjectKind, Iterable<string>][] = [
    [rule.subject, rule.reads.record],
    ['user', rule.reads.users],
    ['device', rule.reads.devices],
  ];
  for (const [kind, paths] of read) {
    for (const path of paths)
      if (world.kinds[kind].isSecret(path)) return `${path} held a secret, which is not recorded`;
  }
  return undefined;
}

function ofWindows(rule: LoadedRule | undefined, { run, gaps, latestMs }: KnownOfRun): string | undefined {
  if (!rule?.reads.events) return undefined;
  const { startedAt } = run.frame.run;
  if (latestMs - startedAt > SET_BACK_MAX_MS) return 'the clock had been set back by more than windows keep events for';
  const fromMs = startedAt - rule.reads.windowMs;
  return gaps.find(({ cause, toMs, fromMs: from }) => cause !== 'forgotten' && toMs >= fromMs && from <= startedAt)
    ?.text;
}

/** A process that went on without a break knows what it saw meanwhile. */
function ofLookBack(rule: LoadedRule | undefined, { run, gaps, beginsMs }: KnownOfRun): string | undefined {
  if (!rule || rule.reads.lookBack.size === 0) return undefined;
  const fromMs = run.frame.run.startedAt - rule.reads.lookBackMs - LOOK_BACK_GAP_MS;
  const gap = gaps.find(({ cause, toMs }) => cause !== 'forgotten' && toMs >= fromMs);
  if (gap) return gap.text;
  return beginsMs !== undefined && beginsMs > fromMs
    ? `the record begins at ${timeText(beginsMs)}, and the rule looks back further`
    : undefined;
}

function ofExemptions({ frame, openState }: RecordedRun): string | undefined {
  const { sources, settings, run } = frame;
  const exemptions = new Exemptions(openState.exemptions ?? [], run.startedAt);
  if (settings.lists === 'v2' && exemptions.asksForGroups)
    return 'groups of users were read one by one for exemptions, and are not recorded';
  const users: Source = SOURCE_OF.user;
  if (exemptions.asksForOwnerRecords && sources[users].state === 'failed')
    return 'users could not be read to their end: what came before is not recorded';
  return undefined;
}
