// rules: what `then` names: each action by its name in rules about these subjects, against the condition and against each other. In: `then` as it is
// written, what `when` reads, the actions' traits. Out: proposals, the sources that show their targets, problems: `when` must not read what the rule's
// own action writes, and no action may undo another of the same rule.
import { canonicalJson } from '../../base/json.ts';
import { didYouMean, nearestName } from '../../base/nearest-name.ts';
import { DAY_MS, HOUR_MS, parseDuration } from '../../base/time.ts';
import { type ActionTraits, isShownByOthers, kindOfTarget, nameInRules } from '../../domain/action.ts';
import { type Fact, type Facts, isFacts } from '../../domain/facts.ts';
import { ALL } from '../../domain/rollout.ts';
import type { ActionOfRule } from '../../domain/rule.ts';
import { SOURCE_OF, type Source, type SubjectKind } from '../../domain/subjects.ts';
import type { Reads } from '../language/loaded-rule.ts';
import type { Place, Problems } from '../language/problem.ts';

type Traits = ReadonlyMap<string, ActionTraits>;

export function readActions(
  raw: Fact | undefined,
  subject: SubjectKind,
  reads: Reads,
  traits: Traits,
  problems: Problems,
): { proposals: ActionOfRule[]; targets: Source[] } {
  const proposals = namedActions(raw, subject, traits, problems);
  refuseInverses(proposals, traits, problems);
  // A condition that fails its checks still has reads: both problems are reported.
  refuseOwnEffect(reads, subject, proposals, traits, problems);
  return { proposals, targets: targetSources(proposals, subject, traits) };
}

const own = (value: Facts, key: string): Fact | undefined => (Object.hasOwn(value, key) ? value[key] : undefined);

function namedActions(raw: Fact | undefined, subject: SubjectKind, traits: Traits, problems: Problems): ActionOfRule[] {
  const list = Array.isArray(raw) ? raw : raw === undefined ? [] : [raw];
  const proposals: ActionOfRule[] = [];
  list.forEach((item, index) => {
    const place = Array.isArray(raw) ? ['then', index] : ['then'];
    const name = isFacts(item) ? own(item, 'action') : item;
    const settings = isFacts(item) ? own(item, 'with') : undefined;
    if (typeof name !== 'string') return; // the format check said so already
    const fitting = new Map(
      [...traits.values()]
        .filter(({ subjects }) => subjects.includes(subject))
        .map((each) => [nameInRules(each, subject), each]),
    );
    const names = namesInRules(traits);
    const trait = fitting.get(name);
    if (!trait && !names.has(name)) {
      const hint = nearestName(name, names.keys())
        ? didYouMean(name, names.keys())
        : `; a ${subject} rule can name ${[...fitting.keys()].join(', ')}`;
      problems.add('action', place, `unknown action \`${name}\`${hint}`);
    } else if (!trait) {
      const named = names.get(name) ?? [];
      const subjects = named.map((one) => one.subject).join(' or a ');
      const same = [...fitting].find(([, each]) => named.some((one) => one.trait === each));
      const own = same ? `; it can name \`${same[0]}\`` : '';
      problems.add('action', place, `\`${name}\` acts on a ${subjects}, and this rule's subject is a ${subject}${own}`);
    } else {
      const given = isFacts(settings) ? settings : {};
      const refusal = trait.refuseSettings(given);
      if (refusal) problems.add('action', [...place, 'with'], refusal);
      if (proposals.some((proposal) => proposal.action === trait.name))
        problems.add('action', place, `\`${name}\` is named twice`);
      proposals.push({ action: trait.name, with: given });
    }
  });
  return proposals;
}

/** Every name of an action in rules, with the subjects whose rules may use it. */
function namesInRules(traits: Traits) {
  const names = new Map<string, { subject: SubjectKind; trait: ActionTraits }[]>();
  for (const trait of traits.values())
    for (const subject of trait.subjects) {
      const name = nameInRules(trait, subject);
      names.set(name, [...(names.get(name) ?? []), { subject, trait }]);
    }
  return names;
}

function targetSources(proposals: readonly ActionOfRule[], subject: SubjectKind, traits: Traits): Source[] {
  const sources = proposals.flatMap(({ action }) => {
    const trait = traits.get(action);
    return trait && isShownByOthers(trait, subject) ? [SOURCE_OF[kindOfTarget(trait)]] : [];
  });
  return [...new Set(sources)];
}

/** Reports, once for each action, the first path of `when` that this action writes with the rule's settings. */
function refuseOwnEffect(
  reads: Reads,
  subject: SubjectKind,
  proposals: readonly ActionOfRule[],
  traits: Traits,
  problems: Problems,
): void {
  for (const { action, with: settings } of proposals) {
    const trait = traits.get(action);
    const written = [trait?.fieldWritten ?? [], trait?.alsoWrites?.(settings) ?? []].flat();
    const places = trait && isShownByOthers(trait, subject) ? joinedPlaces(reads) : reads.places;
    const read = [...places].find(([path]) => written.some((field) => overlap(path, field)));
    if (!read || !trait) continue;
    const [path, place] = read;
    const message = `\`when\` reads \`${path}\`, which \`${nameInRules(trait, subject)}\` itself writes: the rule would clear itself by its own effect; leave it out, a target already in that state is skipped`;
    problems.add('reads_own_effect', place, message);
  }
}

function joinedPlaces({ devices }: Reads): [string, Place][] {
  return [...devices].map((path) => [path, ['when']]);
}

/** The paths are equal, or one contains the other. */
function overlap(one: string, other: string): boolean {
  return one === other || one.startsWith(`${other}.`) || other.startsWith(`${one}.`);
}

/** Reports an action whose inverse, with the same settings, the rule names too: each run would do both. */
function refuseInverses(proposals: readonly ActionOfRule[], traits: Traits, problems: Problems): void {
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

// How a rule begins: with a share of its subjects, and more of them step by step.

const EACH_MS = { least: HOUR_MS, most: 30 * DAY_MS };

export function checkRollout(
  { steps: texts, each }: { steps: readonly string[]; each: string },
  then: readonly ActionOfRule[],
  traits: Traits,
  problems: Problems,
): void {
  const fault = (key: 'steps' | 'each', message: string) =>
    problems.add('value', ['rollout', key], `\`rollout.${key}\`: ${message}`);
  const steps = texts.map(shareOf);
  const found = `found ${texts.join(', ')}`;
  if (steps.some((share, at) => share <= (steps[at - 1] ?? 0)))
    fault('steps', `each step is larger than the one before, and the first one than 0 %; ${found}`);
  else if (Math.max(...steps) > ALL) fault('steps', `no share is above 100%; ${found}`);
  else if (steps.at(-1) !== ALL)
    fault('steps', `the last step is 100%: without it some would never be acted on; ${found}`);
  const ms = parseDuration(each) ?? 0;
  if (ms < EACH_MS.least || ms > EACH_MS.most) fault('each', `a step lasts 1h to 30d; found ${each}`);
  if (then.length > 0 && !then.some(({ action }) => traits.get(action)?.changesFleet)) {
    const message = '`rollout`: its actions change nothing, so there is nothing to begin with a share of; leave it out';
    problems.add('value', ['rollout'], message);
  }
}

/** In hundredths of a percent. */
export function shareOf(text: string): number {
  return Math.round(Number.parseFloat(text) * 100);
}
