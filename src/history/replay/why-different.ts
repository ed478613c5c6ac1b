// history: why a replay cannot give a decision that was made: what the record lacks. In: a run, what is known of the record at its time. Out: a
// reason for a difference, or undefined: then it is a fault of Trustward. INVARIANT: each reason is something that the record itself shows.
import { Exemptions } from '../../decide/exemptions.ts';
import type { HistoryGap, RecordedRun, RunFrame } from '../../domain/recorded-history.ts';
import { SOURCE_OF, type Source, type SubjectKind } from '../../domain/subjects.ts';
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
}

export function whyDifferent(differs: DecisionDiffers, known: KnownOfRun): string | undefined {
  const { run, rules, problems, lost } = known;
  if (lost) return lost.text;
  if (problems.length > 0) return `this version cannot read the rules of that time: ${problems[0]}`;
  const rule = rules.find(({ id }) => id === differs.rule);
  return (
    ofForgotten(differs, known) ??
    ofLists(rule, run.frame) ??
    ofSecrets(rule, known) ??
    ofWindows(rule, known) ??
    ofExemptions(run)
  );
}

/** Limits and ceilings count: what was removed of one subject may show in another one. */
function ofForgotten(
  { subject, rule, was }: DecisionDiffers,
  { gaps, world, run, rules }: KnownOfRun,
): string | undefined {
  const { startedAt } = run.frame.run;
  // A removed decision was in force, perhaps, in later runs; the one that ended it names nothing.
  if (was === undefined || rule === '') {
    const before = gaps.find(({ cause, fromMs }) => cause === 'forgotten' && fromMs <= startedAt);
    if (before) return before.text;
  }
  const forgotten = gaps.find((gap) => gap.cause === 'forgotten' && gap.fromMs <= startedAt && startedAt <= gap.toMs);
  if (!forgotten) return undefined;
  const isThere = world.record(subject.kind, subject.id) !== undefined;
  const others = run.written.some(
    ({ subject: one, verdict }) => verdict === 'match' && world.record(one.kind, one.id) === undefined,
  );
  return !isThere || others || rules.some(({ reads }) => reads.owners || reads.joinedDevices)
    ? forgotten.text
    : undefined;
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
