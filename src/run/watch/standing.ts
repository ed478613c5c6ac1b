// run: whether to look at the event log now, and for which rules. In: the last whole run, the active rules. Out: what the look rests on, or
// why it rests. INVARIANT: what a look does rests on a whole run that was trusted and is recent. It asks the API nothing.
import type { ActionName, ActionTraits } from '../../domain/action.ts';
import { type Rule, rulesById } from '../../domain/rule.ts';
import { isUsable } from '../../domain/snapshot.ts';
import type { RestReason, WatchRequest } from '../../domain/watch.ts';
import type { Engine, RunRules } from '../engine.ts';
import type { LooksMemory } from '../event-feed.ts';
import { deletesDevices } from '../reading-needs.ts';
import type { JudgedRun } from '../recent-runs.ts';

export interface Standing {
  whole: JudgedRun;
  /** The rules that this look judges, with the evaluator of all active ones: its windows are filled. */
  rules: RunRules;
  memory: LooksMemory;
}

export interface Resting {
  code: RestReason;
  text: string;
}

/** Scheduled runs that may have been missed since the last whole one. */
const MISSED_MAX = 1;

export async function standing(engine: Engine, request: WatchRequest): Promise<Standing | Resting> {
  engine.feed.looks ??= {};
  const memory = engine.feed.looks;
  memory.whole = await engine.store.lastWholeRun(memory.whole);
  const { whole } = memory;
  if (whole?.findings === undefined || engine.silence?.since !== undefined)
    return rest('no_whole_run', 'no whole run has been completed yet');
  const judged: JudgedRun = { ...whole, findings: whole.findings };
  if (await hasLeftovers(engine))
    return rest('no_whole_run', 'a whole run has to resolve first what a dead process left');
  if (judged.startedAt > engine.clock.nowMs() + engine.settings.events.overlapMs)
    return rest('no_whole_run', `the clock was set back since run ${whole.seq}`);
  const active = engine.active();
  const rules = active.rules.filter((rule) => mayBeWatched(rule, judged, engine.actions));
  const trusted = rules.filter(({ sources }) =>
    sources.every((source) => isUsable(judged.findings.snapshot.sources[source])),
  );
  if (rules.length > 0 && trusted.length === 0)
    return rest('untrusted', `run ${whole.seq} could not trust what the rules read`);
  const missed = request.missedSince(judged.startedAt);
  if (missed > MISSED_MAX) return rest('runs_missed', `${missed} scheduled runs were missed since run ${whole.seq}`);
  if (isForbidden(judged, memory)) return rest('events_forbidden', 'the server does not show the event log');
  if (trusted.length === 0) return rest('nothing_to_watch', 'no active rule can be judged between two whole runs');
  return { whole: judged, rules: { ...active, rules: trusted, active: rulesById(active.rules) }, memory };
}

function rest(code: RestReason, text: string): Resting {
  return { code, text };
}

async function hasLeftovers({ store }: Engine): Promise<boolean> {
  return (await store.intentsIn('planned')).length > 0 || (await store.intentsIn('sent')).length > 0;
}

/** Judged by the last whole run as it is now, and by single records: who loses the last device, only the whole list shows. */
function mayBeWatched(rule: Rule, { findings }: JudgedRun, actions: ReadonlyMap<ActionName, ActionTraits>): boolean {
  const tally = findings.tallies.find((one) => one.rule === rule.id);
  return rule.watch && tally?.judged === true && tally.hash === rule.hash && !deletesDevices(rule, actions);
}

/** No whole run reads the log for rules that count no events: then a look asks again after each whole run. */
function isForbidden({ id, findings }: JudgedRun, { forbiddenAfter }: LooksMemory): boolean {
  return forbiddenAfter === id || findings.snapshot.sources.events.state === 'unavailable';
}
