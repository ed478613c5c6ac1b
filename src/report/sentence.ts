// report: what happened or would happen, in one sentence. In: the run and its decisions. Out: plain text that may hold hostile names:
// each writer escapes it for its own medium.
import { isLive, leastMode } from '../domain/mode.ts';
import type { SubjectRef } from '../domain/subjects.ts';
import { actKindOf } from './act-kind.ts';
import { countEffect, effectWords } from './effects.ts';
import { countText, plural } from './fact-text.ts';
import { grouped } from './grouped.ts';
import type { ReportRun, RunDecision } from './report.ts';

const ACTIONS_MAX = 3;

/** `Would ban 3 devices of 3 people and hold 12 more for approval; nothing was changed.` */
export function sentenceOf(run: ReportRun, decisions: readonly RunDecision[]): string {
  if (run.status === 'running') return 'This run is still under way.';
  if (run.status === 'aborted') return `This run was aborted: ${run.error ?? 'no reason was recorded'}.`;
  const done = decisions.filter((one) => actKindOf(one) === 'done');
  const would = decisions.filter((one) => actKindOf(one) === 'would');
  const held = heldWords(decisions, done.length + would.length > 0);
  if (done.length === 0) return `${wouldWords(run, would, held)}; nothing was changed.`;
  const also = would.length === 0 ? [] : [`would ${actsWords(would)} if the mode allowed it`];
  return `${listed([`Acted to ${actsWords(done)} (${outcomeWords(done)})`, ...also, ...prefixed('held', held)])}.`;
}

function wouldWords(run: ReportRun, would: readonly RunDecision[], held: readonly string[]): string {
  const isDry = run.whatIf || !isLive(leastMode(run.mode, run.daemonMode));
  const begin = run.whatIf ? 'If these rules were active, a run would' : 'Would';
  if (would.length > 0) return `${begin} ${listed([actsWords(would), ...prefixed('hold', held)])}`;
  if (held.length === 0) return run.whatIf ? `${begin} do nothing` : 'Nothing to do';
  if (isDry) return `${begin} ${listed(prefixed('hold', held))}`;
  return listed(prefixed('Held', held));
}

function prefixed(verb: string, held: readonly string[]): string[] {
  return held.length === 0 ? [] : [`${verb} ${held.join(', ')}`];
}

/** `12 more for approval`. */
function heldWords(decisions: readonly RunDecision[], isMore: boolean): string[] {
  const held = decisions.filter(({ decision }) => decision === 'hold');
  const ceiling = held.filter(({ reason }) => reason === 'ceiling').length;
  const frozen = held.filter(({ reason }) => reason === 'frozen').length;
  const person = held.length - ceiling - frozen;
  const more = isMore ? ' more' : '';
  return [
    ...(person === 0 ? [] : [`${countText(person)}${more} for approval`]),
    ...(ceiling === 0 ? [] : [`${countText(ceiling)}${more} until a ceiling allows it`]),
    ...(frozen === 0 ? [] : [`${countText(frozen)}${more} until the change window ends`]),
  ];
}

/** `ban 3 devices of 3 people, disable 1 service and do 2 other actions`. */
function actsWords(decisions: readonly RunDecision[]): string {
  const all = grouped(decisions, ({ action }) => action).map(actionWords);
  const more = all.length - ACTIONS_MAX;
  return listed(more > 0 ? [...all.slice(0, ACTIONS_MAX), `do ${plural(more, 'other action')}`] : all);
}

interface Proposed extends Pick<RunDecision, 'action' | 'effect'> {
  subject: SubjectRef;
}

/** The name of an action is its verb, and mostly the kind of its subjects. */
export function actionWords(decisions: readonly Proposed[]): string {
  const { action, subject } = decisions[0] as Proposed;
  const words = action.replaceAll('_', ' ');
  const subjects = new Set(decisions.map(({ subject }) => subject.id)).size;
  const counted = effectWords(countEffect(decisions)) ?? plural(subjects, subject.kind);
  const verb = /^([a-z]+) (device|user|service)$/.exec(words);
  return verb ? `${verb[1]} ${counted}` : `${words} for ${counted}`;
}

function outcomeWords(done: readonly RunDecision[]): string {
  const counts = new Map<string, number>();
  for (const { outcome } of done) {
    const name = outcome === 'confirmed' ? 'succeeded' : outcome === 'unknown' ? 'in doubt' : (outcome ?? 'pending');
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return [...counts].map(([name, count]) => `${countText(count)} ${name}`).join(', ');
}

/** `a, b and c`. */
export function listed(parts: readonly string[]): string {
  const before = parts.slice(0, -1).join(', ');
  return `${before}${before === '' ? '' : ' and '}${parts.at(-1)}`;
}
