// rules: a rule's actions against its condition and against each other. In: what `when` reads, the proposals, the actions' traits.
// Out: problems: `when` must not read what the rule's own action writes, and no action may undo another of the same rule.

import { canonicalJson } from '../../base/json.ts';
import type { ActionTraits } from '../../domain/action.ts';
import { type Fact, isFacts } from '../../domain/facts.ts';
import type { ActionOfRule } from '../../domain/rule.ts';
import { type Constant, type Expression, partsOf } from '../language/expression.ts';
import type { Reads } from '../language/loaded-rule.ts';
import type { Place, Problems } from '../language/problem.ts';

type Traits = ReadonlyMap<string, ActionTraits>;

/** Reports, once for each action, the first path of `when` that this action writes with the rule's settings. */
export function refuseOwnEffect(
  reads: Reads,
  proposals: readonly ActionOfRule[],
  traits: Traits,
  problems: Problems,
): void {
  for (const { action, with: settings } of proposals) {
    const trait = traits.get(action);
    const written = [trait?.fieldWritten ?? [], trait?.alsoWrites?.(settings) ?? []].flat();
    const read = [...reads.places].find(([path]) => written.some((field) => overlap(path, field)));
    if (!read) continue;
    const [path, place] = read;
    const message = `\`when\` reads \`${path}\`, which \`${action}\` itself writes: the rule would clear itself by its own effect; leave it out, a target already in that state is skipped`;
    problems.add('reads_own_effect', place, message);
  }
}

/** The paths are equal, or one contains the other. */
function overlap(one: string, other: string): boolean {
  return one === other || one.startsWith(`${other}.`) || other.startsWith(`${one}.`);
}

/** Reports an action whose inverse, with the same settings, the rule names too: each run would do both. */
export function refuseInverses(proposals: readonly ActionOfRule[], traits: Traits, problems: Problems): void {
  proposals.forEach((proposal, index) => {
    const inverse = traits.get(proposal.action)?.inverse;
    const undone = proposals
      .slice(0, index)
      .find((each) => each.action === inverse && canonicalJson(each.with) === canonicalJson(proposal.with));
    if (!undone) return;
    const message = `\`${proposal.action}\` undoes \`${undone.action}\` of the same rule; name one of them (\`revert: true\` undoes when the rule no longer matches)`;
    problems.add('action', ['then', index], message);
  });
}

// How deep and large a condition may be.

const DEPTH_MAX = 32;
const NODES_MAX = 1_000;

interface TooMuch {
  code: 'too_deep' | 'too_large';
  message: string;
}

const TOO_LARGE: TooMuch = {
  code: 'too_large',
  message: `\`when\` is too large: more than ${NODES_MAX} operators and values`,
};

/** Why a condition is too deep or too large, or undefined. Iterative: the value may be nested without bound. */
export function measure(raw: Fact): TooMuch | undefined {
  let nodes = 0;
  const waiting: { value: Fact; depth: number }[] = [{ value: raw, depth: 0 }];
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    const { value, depth } = next;
    if (depth > DEPTH_MAX)
      return { code: 'too_deep', message: `\`when\` is nested deeper than ${DEPTH_MAX} operators` };
    if (!Array.isArray(value) && ++nodes > NODES_MAX) return TOO_LARGE;
    if (Array.isArray(value)) {
      // A list in a list is a level too, so that lists alone cannot nest without bound.
      for (const item of value) waiting.push({ value: item, depth: Array.isArray(item) ? depth + 1 : depth });
    } else if (isFacts(value)) {
      for (const item of Object.values(value)) waiting.push({ value: item, depth: depth + 1 });
    }
    if (waiting.length > 10 * NODES_MAX) return TOO_LARGE;
  }
  return undefined;
}

// Finds parts of a condition that are the same for every subject whose facts are known.

/** Reports every constant part, but not the parts around it. Returns whether there is any. */
export function checkConstants(condition: Expression, report: (place: Place, message: string) => void): boolean {
  const where = condition.op === 'fact' && condition.fact.kind === 'events' ? condition.fact.count.where : undefined;
  const within = [...partsOf(condition), ...(where ? [where] : [])].map((part) => checkConstants(part, report));
  if (within.includes(true)) return true;
  const found = constantIn(condition);
  if (found) report(found.place, `this is always ${found.truth}: ${found.because}`);
  return found !== undefined;
}

function constantIn(expression: Expression): (Constant & { place: Place }) | undefined {
  if (expression.op !== 'call') return undefined;
  const { operator, args, place } = expression;
  // A literal where a condition is expected.
  const literal = args.find((arg, index) => arg.op === 'literal' && operator.asksTruthOf?.(index, args.length));
  if (literal?.op === 'literal')
    return { place: literal.place, truth: literal.value ? 'true' : 'false', because: 'it is written out' };
  const isTest = expression.type.kind === 'boolean' && !operator.joins && !operator.body;
  if (isTest && !readsAnything(expression)) return { place, truth: 'the same', because: 'it reads no fact' };
  const constant = operator.constant?.(args);
  return constant && { place, ...constant };
}

function readsAnything(expression: Expression): boolean {
  if (['fact', 'item', 'now'].includes(expression.op)) return true;
  if (expression.op === 'call' && expression.operator.looksIn) return true;
  return partsOf(expression).some(readsAnything);
}
