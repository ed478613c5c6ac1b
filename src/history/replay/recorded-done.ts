// history: what Trustward did in the recorded past. In: the open state of one run after the other, and at the end what the last run decided. Out:
// each action that had an effect, once, when it was sent. Outcomes are known from the next run on.
import type { KnownTraits } from '../../domain/action.ts';
import type { Outcome, StoredDecision } from '../../domain/decision.ts';
import type { Intent } from '../../domain/intent.ts';
import { isLive } from '../../domain/mode.ts';
import type { Run } from '../../domain/run.ts';
import type { OpenState } from '../../domain/store.ts';
import type { LoadedRule } from '../../evaluate/index.ts';
import type { DoneIntent } from './tally-acts.ts';

const HAD_EFFECT: ReadonlySet<Outcome | undefined> = new Set(['succeeded', 'confirmed', 'unknown']);

export class RecordedDone {
  private known = new Set<string>();
  private hasBegun = false;
  /** What was done before the first run of the replay is not of its time. */
  private fromMs = Number.POSITIVE_INFINITY;
  private readonly seqOf = new Map<string, number>();

  constructor(private readonly traits: KnownTraits) {}

  /** The open state that a run found. `rules`: of the run before it. */
  take(openState: OpenState, rules: readonly LoadedRule[], isWhole: boolean): DoneIntent[] {
    const decisions = new Map(openState.decisions.map((decision) => [decision.id, decision]));
    const done = [...this.byIntents(openState), ...this.byDecisions(openState, rules)];
    if (isWhole) this.forgetOthers(openState);
    const isFirst = !this.hasBegun;
    this.hasBegun = true;
    if (isFirst) return [];
    const episodes = new Map(openState.episodes.map((episode) => [episode.id, episode]));
    const found = done.map((one): DoneIntent => {
      const bases = new Map(one.intent.basis.map(({ decisionId, episodeId }) => [decisionId, episodeId]));
      const subjectOf = (id: string) => episodes.get(bases.get(id) ?? '')?.subject;
      const decisionOf: DoneIntent['decisionOf'] = (id) => {
        const subject = subjectOf(id);
        return decisions.get(id) ?? (subject && { subject, subjectName: '' });
      };
      const runSeq =
        one.runSeq || (one.intent.basis.map(({ decisionId }) => decisions.get(decisionId)?.runSeq)[0] ?? 0);
      return { ...one, runSeq, decisionOf };
    });
    return found.filter(({ atMs }) => atMs >= this.fromMs).sort((a, b) => a.atMs - b.atMs);
  }

  begins({ id, seq, startedAt }: Pick<Run, 'id' | 'seq' | 'startedAt'>): void {
    this.fromMs = Math.min(this.fromMs, startedAt);
    this.seqOf.set(id, seq);
  }

  private byIntents({ intents }: OpenState): Omit<DoneIntent, 'decisionOf'>[] {
    return intents.flatMap((intent) => {
      if (!isLive(intent.mode) || !hadEffect(intent) || this.known.has(intent.id)) return [];
      this.known.add(intent.id);
      const atMs = intent.sentAt ?? intent.createdAt;
      return [{ intent, atMs, runSeq: this.seqOf.get(intent.runId) ?? 0 }];
    });
  }

  /** An undo that succeeded is no open intent any more; its decisions are in force until the next run. */
  private byDecisions({ decisions }: OpenState, rules: readonly LoadedRule[]): Omit<DoneIntent, 'decisionOf'>[] {
    const byIntent = new Map<string, StoredDecision[]>();
    for (const decision of decisions) {
      const { intentId, outcome, mode, decision: name } = decision;
      if (intentId === undefined || name !== 'act' || !isLive(mode)) continue;
      if (!HAD_EFFECT.has(outcome) || outcome === undefined || this.known.has(intentId)) continue;
      byIntent.set(intentId, [...(byIntent.get(intentId) ?? []), decision]);
    }
    return [...byIntent].map(([id, those]) => {
      this.known.add(id);
      const { action, target, verdict, effect, writtenAt, runSeq, rule } = those[0] as StoredDecision;
      const undo = verdict === 'no_match';
      const proposed = undo ? this.traits.get(action)?.inverse : action;
      const settings = rules.find((one) => one.id === rule)?.then.find((one) => one.action === proposed)?.with ?? {};
      const basis = those.map((one) => ({
        rule: one.rule,
        ruleHash: one.ruleHash,
        subjectId: one.subject.id,
        episodeId: one.episodeId ?? '',
        decisionId: one.id,
        facts: one.facts,
      }));
      return { intent: { action, target, settings, undo, basis, effect }, atMs: writtenAt, runSeq };
    });
  }

  private forgetOthers({ intents, decisions }: OpenState): void {
    const there = new Set([...intents.map(({ id }) => id), ...decisions.flatMap(({ intentId }) => intentId ?? [])]);
    this.known = new Set([...this.known].filter((id) => there.has(id)));
  }
}

function hadEffect({ outcome, attempts }: Intent): boolean {
  return outcome !== undefined && HAD_EFFECT.has(outcome) && (attempts > 0 || outcome !== 'unknown');
}
