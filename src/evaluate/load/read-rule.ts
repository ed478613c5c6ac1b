// evaluate: a rule file's value → a loaded rule, every part of it checked. In: the value, where its parts stand, the actions' traits.
// Out: the rule, or all of its problems.

import type { ActionName, ActionTraits } from '../../domain/action.ts';
import { digestOf } from '../../domain/digest.ts';
import { parseDuration } from '../../domain/duration.ts';
import { type Fact, type Facts, isFacts } from '../../domain/facts.ts';
import type { ActionOfRule } from '../../domain/rule.ts';
import { SUBJECT_KINDS, type SubjectKind } from '../../domain/subjects.ts';
import { refuseInverses, refuseOwnEffect } from '../check/effects.ts';
import type { Language } from '../check/scope.ts';
import type { Expression } from '../language/expression.ts';
import type { LoadedRule } from '../language/loaded-rule.ts';
import { didYouMean, nearestName } from '../language/nearest-name.ts';
import { Problems } from '../language/problem.ts';
import { noReads, type Reads } from '../language/reads.ts';
import { LANGUAGE } from '../operators/index.ts';
import { reportFormat } from './format-faults.ts';
import { readTests } from './read-tests.ts';
import { readWhen } from './read-when.ts';
import { type RuleFile, ruleSchema } from './rule-format.ts';
import { reportTimesOf, sourcesOf } from './sources.ts';
import { checkTests } from './test-fields.ts';

export interface ReadOptions {
  traits: ReadonlyMap<string, ActionTraits>;
  /** The operators that conditions can use; the shipped ones by default. */
  language?: Language;
}

/** The rule, or undefined when there are problems. */
export function readRule(
  value: Fact,
  text: string,
  file: string,
  lineOf: (test: number) => number,
  options: ReadOptions,
  problems: Problems,
): LoadedRule | undefined {
  if (!isFacts(value)) {
    problems.add('format', [], 'expected a rule: an object with `id`, `subject`, `when` and `then`');
    return undefined;
  }
  const parsed = ruleSchema.safeParse(value);
  if (!parsed.success) reportFormat(parsed.error.issues, value, problems);
  const subject = SUBJECT_KINDS.find((kind) => kind === own(value, 'subject'));
  if (!subject) return undefined;
  const reads = noReads();
  const condition = readWhen(value, subject, options.language ?? LANGUAGE, reads, problems);
  const proposals = readActions(own(value, 'then'), subject, options, problems);
  refuseInverses(proposals, options.traits, problems);
  // A condition that fails its checks still has reads: both problems are reported.
  refuseOwnEffect(reads, proposals, options.traits, problems);
  if (parsed.success) checkTests(parsed.data, subject, reads.lookBack, problems);
  if (!parsed.success || !condition || problems.list.length > 0) return undefined;
  const rule = assemble(parsed.data, value, file, proposals, condition, reads, readTests(parsed.data, lineOf));
  return { ...rule, text };
}

const own = (value: Facts, key: string): Fact | undefined => (Object.hasOwn(value, key) ? value[key] : undefined);

function assemble(
  data: RuleFile,
  raw: Facts,
  file: string,
  proposals: ActionOfRule[],
  condition: Expression,
  reads: Reads,
  tests: LoadedRule['tests'],
): Omit<LoadedRule, 'text'> {
  const { tests: _, ...meaning } = raw;
  return {
    id: data.id,
    title: data.title ?? data.id,
    severity: data.severity,
    subject: data.subject,
    when: own(raw, 'when') as Fact,
    then: proposals,
    mode: data.mode,
    forMs: parseDuration(data.for) ?? 0,
    clearForMs: parseDuration(data.clear_for) ?? 0,
    cooldownMs: parseDuration(data.cooldown) ?? 0,
    revert: data.revert,
    reportTimes: data.revert ? reportTimesOf(data, reads) : [],
    limits: limitsOf(data),
    owners: data.owners,
    watch: data.watch,
    hash: digestOf(meaning),
    file,
    sources: sourcesOf(data.subject, reads),
    condition,
    reads,
    tests,
    raw,
  };
}

function limitsOf({ limits: { max, percent, per_day: perDay } }: RuleFile): LoadedRule['limits'] {
  return { max, percent, ...(perDay !== undefined && { perDay }) };
}

function readActions(
  raw: Fact | undefined,
  subject: SubjectKind,
  { traits }: ReadOptions,
  problems: Problems,
): ActionOfRule[] {
  const list = Array.isArray(raw) ? raw : raw === undefined ? [] : [raw];
  const proposals: ActionOfRule[] = [];
  list.forEach((item, index) => {
    const place = Array.isArray(raw) ? ['then', index] : ['then'];
    const name = isFacts(item) ? own(item, 'action') : item;
    const settings = isFacts(item) ? own(item, 'with') : undefined;
    if (typeof name !== 'string') return; // the format check said so already
    const trait = traits.get(name);
    if (!trait) {
      const fitting = [...traits.values()].filter((each) => each.subjects.includes(subject)).map((each) => each.name);
      const hint = nearestName(name, traits.keys())
        ? didYouMean(name, traits.keys())
        : `; a ${subject} rule can name ${fitting.join(', ')}`;
      problems.add('action', place, `unknown action \`${name}\`${hint}`);
    } else if (!trait.subjects.includes(subject)) {
      problems.add(
        'action',
        place,
        `\`${name}\` acts on a ${trait.subjects.join(' or a ')}, and this rule's subject is a ${subject}`,
      );
    } else {
      const given = isFacts(settings) ? settings : {};
      const refusal = trait.refuseSettings(given);
      if (refusal) problems.add('action', [...place, 'with'], refusal);
      if (proposals.some((proposal) => proposal.action === name))
        problems.add('action', place, `\`${name}\` is named twice`);
      proposals.push({ action: name as ActionName, with: given });
    }
  });
  return proposals;
}

/** The rule with another `when` or `fresh`; undefined when the result fails its checks. */
export function withChanges(
  rule: Omit<LoadedRule, 'condition' | 'reads'>,
  changes: Facts,
  language: Language,
): LoadedRule | undefined {
  const raw = { ...rule.raw, ...changes };
  const problems = new Problems(rule.file, () => ({ line: 1, column: 1 }));
  const reads = noReads();
  const condition = readWhen(raw, rule.subject, language, reads, problems);
  if (!condition || problems.list.length > 0) return undefined;
  return { ...rule, when: raw.when as Fact, raw, condition, reads, sources: sourcesOf(rule.subject, reads) };
}
