// A changed rule, tried over the present fleet: two what-ifs, over the loaded rules and over the same with this rule replaced. In: the
// loaded rules and the changed text. Out: what it would match and do, compared. Nothing is sent, and nothing is kept.
import {
  type StoredDecision,
  TRIED_MAX,
  type TriedCounts,
  type TriedDecision,
  type TriedRule,
  type TriedSubject,
} from '../../domain/decision.ts';
import { AppError } from '../../domain/errors.ts';
import type { Match } from '../../domain/verdict.ts';
import { activate } from '../../rules/active/rule-holder.ts';
import type { LoadedRule } from '../../rules/language/loaded-rule.ts';
import { problemLine } from '../../rules/language/problem.ts';
import type { NamedLists } from '../../rules/load/named-lists.ts';
import { parseRule } from '../../rules/load/read-rule.ts';
import { type WhatIfEngine, whatIf } from './what-if.ts';

/** Without rules of its own: each trial compiles its rules anew, so that it changes no window of the active ones. */
export type TrialEngine = Omit<WhatIfEngine, 'active' | 'feed'>;

/** Errors: AppError `not_found`; `rules` with a line for each problem, as loading reports them; `usage` for another id. */
export function changedRule(
  loaded: readonly LoadedRule[],
  id: string,
  text: string,
  traits: TrialEngine['actions'],
  lists: NamedLists,
): LoadedRule {
  const { file, guards } = loadedRule(loaded, id);
  const { sources = [], transmitters = [] } = guards ?? {};
  const parsed = parseRule(text, file, { traits, lists, sources, transmitters });
  if ('problems' in parsed) throw new AppError('rules', parsed.problems.map(problemLine).join('\n'));
  if (parsed.rule.id === id) return guards ? { ...parsed.rule, guards } : parsed.rule;
  const what = `the text has the id \`${parsed.rule.id}\` and not \`${id}\``;
  throw new AppError('usage', `${what}: keep the id; another id would be another rule`);
}

/** Errors: AppError `not_found`; those of reading the API, also when a source that the rule reads cannot be read. */
export async function tryRule(
  engine: TrialEngine,
  loaded: readonly LoadedRule[],
  changed: LoadedRule,
): Promise<TriedRule> {
  const present = loadedRule(loaded, changed.id);
  const before = await trialOf(engine, loaded, present);
  const replaced = loaded.map((rule) => (rule === present ? changed : rule));
  const after = await trialOf(engine, replaced, changed);
  const [added, gone] = [without(after.matches, before.matches), without(before.matches, after.matches)];
  const shown = (match: Match) => subjectOf(match, after, before);
  return {
    rule: changed,
    asOf: after.asOf,
    before: before.counts,
    after: after.counts,
    added: added.slice(0, TRIED_MAX).map(shown),
    addedTotal: added.length,
    gone: gone.slice(0, TRIED_MAX).map(shown),
    goneTotal: gone.length,
    same: after.matches.size - added.length,
    unknownBy: after.unknownBy,
    untrusted: [...new Set([...before.untrusted, ...after.untrusted])],
  };
}

function loadedRule(loaded: readonly LoadedRule[], id: string): LoadedRule {
  const rule = loaded.find((one) => one.id === id);
  if (!rule) throw new AppError('not_found', `there is no rule \`${id}\``);
  return rule;
}

/** What one rule among all of them matches and decides. */
interface Trial {
  asOf: number;
  counts: TriedCounts;
  /** By subject. */
  matches: ReadonlyMap<string, Match>;
  decisions: ReadonlyMap<string, readonly StoredDecision[]>;
  unknownBy: TriedRule['unknownBy'];
  untrusted: string[];
}

async function trialOf(engine: TrialEngine, rules: readonly LoadedRule[], { id, mode }: LoadedRule): Promise<Trial> {
  const none = { match: 0, unknown: 0, error: 0, act: 0, hold: 0, skip: 0, waits: 0, cools: 0, outside: 0 };
  const asOf = engine.clock.nowMs();
  if (mode === 'off')
    return { asOf, counts: none, matches: new Map(), decisions: new Map(), unknownBy: {}, untrusted: [] };
  const active = activate(rules, '', engine.settings.lists);
  const feed = { primed: new WeakSet<object>(), triedMs: 0 };
  const { run, reader, matches } = await whatIf({ ...engine, active: () => active, feed }, { rules: undefined });
  const tally = run.findings?.tallies.find(({ rule }) => rule === id);
  const read = active.rules.find((rule) => rule.id === id)?.sources ?? [];
  const reasons = read
    .flatMap((source) => run.findings?.snapshot.sources[source] ?? [])
    .flatMap((reading) => reading.reasons.map(({ text }) => text));
  if (!tally?.judged) throw new AppError('api_unreachable', `rule \`${id}\` cannot be judged: ${reasons.join('; ')}`);
  const decisions = (await reader.decisionsOfRun(run)).filter(({ rule }) => rule === id);
  const counts = { ...none, match: tally.match, unknown: tally.unknown, error: tally.error };
  const bySubject = new Map<string, StoredDecision[]>();
  for (const decision of decisions) {
    counts[decision.decision] += 1;
    if (decision.reason === 'for_not_reached') counts.waits += 1;
    if (decision.reason === 'cooldown') counts.cools += 1;
    if (decision.reason === 'outside_window' || decision.reason === 'rollout') counts.outside += 1;
    bySubject.set(decision.subject.id, [...(bySubject.get(decision.subject.id) ?? []), decision]);
  }
  return {
    asOf,
    counts,
    matches: new Map(matches.filter(({ rule }) => rule === id).map((match) => [match.summary.id, match])),
    decisions: bySubject,
    unknownBy: tally.missing,
    untrusted: reasons,
  };
}

function without(matches: Trial['matches'], others: Trial['matches']): Match[] {
  return [...matches].flatMap(([id, match]) => (others.has(id) ? [] : [match]));
}

function subjectOf({ summary, facts }: Match, after: Trial, before: Trial): TriedSubject {
  const { kind, id, name, serial, owners } = summary;
  const of = ({ decisions }: Trial) => (decisions.get(id) ?? []).map(decidedOf);
  return { kind, id, name, serial, owners, decided: of(after), was: of(before), facts };
}

function decidedOf({ action, target, decision, reason, reasonText }: StoredDecision): TriedDecision {
  return { action, target, decision, reason, reasonText };
}
