// report: a replay in one sentence. In: a replay as a document. Out: plain text that may hold hostile names: each writer escapes it.
import { effectWords } from '../effects.ts';
import { asSentence, countText, plural } from '../fact-text.ts';
import { grouped } from '../grouped.ts';
import { listed } from '../sentence.ts';
import { timeWords } from '../time-words.ts';
import type { ReplayActView, ReplayDocument, ReplayRuleView } from './document.ts';

const ACTIONS_MAX = 3;
const RULES_MAX = 3;

type Found = Omit<ReplayDocument, 'sentence'>;

/** `Would have banned 40 devices of 31 people; at most 38 in one run, at 2026-11-03 09:15:00 UTC.` */
export function sentenceOfReplay(found: Found): string {
  if (found.runs === 0) return 'No run is recorded in this time, so nothing was replayed.';
  const did = found.acts.filter(({ undo }) => !undo);
  const held = heldTargets(found.rules);
  const what = [...actsWords(did), ...(held === 0 ? [] : [`held ${plural(held, 'target')}`])];
  const would = found.way === 'what_if' ? 'would have ' : '';
  const first = what.length === 0 ? `${nothingWords(found)}` : `${would}${listed(what)}`;
  return `${asSentence([first, ...mostWords(found.rules), ...crossedWords(found.rules)].join('; '))}.`;
}

function nothingWords({ way, rules }: Found): string {
  const matched = rules.reduce((sum, { matches }) => sum + matches, 0);
  const why = matched === 0 ? 'nothing matched' : `${plural(matched, 'subject')} matched, and nothing followed`;
  return way === 'what_if' ? `would have done nothing: ${why}` : `did nothing: ${why}`;
}

/** `banned 3 devices of 2 people`, `disabled 1 service`. */
function actsWords(acts: readonly ReplayActView[]): string[] {
  const all = grouped(acts, ({ action }) => action).map(actionWords);
  const more = all.length - ACTIONS_MAX;
  return more > 0 ? [...all.slice(0, ACTIONS_MAX), `did ${plural(more, 'other action')}`] : all;
}

function actionWords(acts: readonly ReplayActView[]): string {
  const { action, subject } = acts[0] as ReplayActView;
  const [verb = '', ...rest] = action.split('_');
  const subjects = new Set(acts.map((act) => act.subject.id)).size;
  const counted = `${subjectsWords(acts)}${acts.length > subjects ? ` (${countText(acts.length)} times in all)` : ''}`;
  if (rest.length === 0 || rest.join(' ') === subject.kind) return `${pastOf(verb)} ${counted}`;
  return `${pastOf(verb)} ${rest.join(' ')} for ${counted}`;
}

/** `3 devices of 2 people`, `1 service`: each counts once. */
function subjectsWords(acts: readonly ReplayActView[]): string {
  const { kind } = (acts[0] as ReplayActView).subject;
  const subjects = [...new Map(acts.map(({ subject }) => [subject.id, subject])).values()];
  const people = subjects.flatMap(({ id, owners }) => (kind === 'user' ? [id] : (owners ?? [])));
  const counts = {
    decisions: acts.length,
    devices: kind === 'device' ? subjects.length : 0,
    people: kind === 'service' ? 0 : new Set(people.map((person) => person.toLowerCase())).size,
    ownersUnknown: kind === 'device' ? subjects.filter(({ owners }) => owners === null).length : 0,
  };
  return effectWords(counts) ?? plural(subjects.length, kind);
}

/** The verbs of actions are regular: ban, banned; disable, disabled; notify, notified; add, added. */
function pastOf(verb: string): string {
  if (verb.endsWith('e')) return `${verb}d`;
  if (/[^aeiou]y$/.test(verb)) return `${verb.slice(0, -1)}ied`;
  return /^(un)?[^aeiou][aeiou][^aeiouwxy]$/.test(verb) ? `${verb}${verb.at(-1)}ed` : `${verb}ed`;
}

function mostWords(rules: readonly ReplayRuleView[]): string[] {
  const most = rules.reduce<ReplayRuleView | undefined>(
    (found, rule) => (found && found.mostInRun >= rule.mostInRun ? found : rule),
    undefined,
  );
  if (most === undefined || most.mostInRun < 2) return [];
  const at = most.mostInRunAt === null ? '' : `, at ${timeWords(most.mostInRunAt)}`;
  const by = rules.length > 1 ? ` by rule ${most.id}` : '';
  return [`at most ${countText(most.mostInRun)} in one run${by}${at}`];
}

/** Rules of which one run had more targets than their limits allow. */
function crossedWords(rules: readonly ReplayRuleView[]): string[] {
  const crossing = rules.filter(isAboveLimit);
  const words = crossing.slice(0, RULES_MAX).map(({ id, allowed, mostTargets }) => {
    const limit = countText(allowed?.limits ?? 0);
    return `rule ${id} had up to ${plural(mostTargets, 'target')} at once, above its limit of ${limit}`;
  });
  const more = crossing.length - words.length;
  return [...words, ...(more > 0 ? [`so had ${plural(more, 'more rule')}`] : [])];
}

export function isAboveLimit({ allowed, mostTargets }: Pick<ReplayRuleView, 'allowed' | 'mostTargets'>): boolean {
  return allowed !== null && mostTargets > allowed.limits;
}

function heldTargets(rules: readonly ReplayRuleView[]): number {
  const held = rules.flatMap((rule) => rule.held.filter(({ decision }) => decision === 'hold'));
  return held.reduce((sum, { targets }) => sum + targets, 0);
}
