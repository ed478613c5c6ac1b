// decide, second step: matches → proposals: one for each action of the rule and each target of the subject.
import type { ActionName, ActionTraits, KnownTraits } from '../domain/action.ts';
import { summaryOfTarget } from '../domain/bundles.ts';
import { eachInSteps } from '../domain/give-way.ts';
import { type Intent, isDone, isUnresolved } from '../domain/intent.ts';
import { leastMode, type Mode } from '../domain/mode.ts';
import type { Rule } from '../domain/rule.ts';
import { type ActionOnTarget, targetKey } from '../domain/target-key.ts';
import type { FollowedMatch } from './episodes.ts';
import type { DecideInput } from './input.ts';
import type { Proposal } from './proposal.ts';

/** Live intents by action, target and episode: the look-up for what an episode has already led to. */
export class KnownIntents {
  private readonly byKey = new Map<string, Intent>();
  private readonly doubts = new Map<string, Intent>();
  private readonly ids = new Map<string, Intent>();
  private readonly done = new Map<string, Intent[]>();

  constructor(
    intents: readonly Intent[],
    private readonly traits: KnownTraits,
  ) {
    for (const intent of intents) {
      this.ids.set(intent.id, intent);
      if (intent.mode === 'dry-run' || intent.status === 'withdrawn') continue;
      if (isUnresolved(intent)) this.doubts.set(targetKey(intent, traits), intent);
      if (isDone(intent)) add(this.done, targetKey(intent, traits), intent);
      for (const { episodeId } of intent.basis) this.byKey.set(key(intent.action, intent.target, episodeId), intent);
    }
  }

  byId(id: string): Intent | undefined {
    return this.ids.get(id);
  }

  /** An intent on this target whose effect is not known yet. */
  doubtOn(aim: ActionOnTarget): Intent | undefined {
    return this.doubts.get(targetKey(aim, this.traits));
  }

  /** What was done last on this target to the field that the action writes. */
  lastDoneOn(
    aim: ActionOnTarget,
    { fieldWritten }: ActionTraits,
  ): { intent: Intent; traits: ActionTraits } | undefined {
    const done = (this.done.get(targetKey(aim, this.traits)) ?? []).flatMap((intent) => {
      const traits = this.traits.get(intent.action);
      return traits !== undefined && traits.fieldWritten === fieldWritten ? [{ intent, traits }] : [];
    });
    return done.toSorted((a, b) => (a.intent.settledAt ?? 0) - (b.intent.settledAt ?? 0)).at(-1);
  }

  of(action: ActionName, target: string, episodeId: string | undefined): Intent | undefined {
    return episodeId === undefined ? undefined : this.byKey.get(key(action, target, episodeId));
  }
}

export function add<T>(map: Map<string, T[]>, key: string, one: T): void {
  const all = map.get(key);
  if (all) all.push(one);
  else map.set(key, [one]);
}

function key(action: ActionName, target: string, episodeId: string): string {
  return `${action}\u0000${target}\u0000${episodeId}`;
}

export function* proposalsOf(
  input: DecideInput,
  matches: readonly FollowedMatch[],
  known: KnownIntents,
): Generator<void, Proposal[]> {
  const proposals: Proposal[] = [];
  yield* eachInSteps(matches, (matched) => {
    for (const proposal of proposalsOfMatch(input, matched, known)) proposals.push(proposal);
  });
  return proposals;
}

function proposalsOfMatch(
  input: DecideInput,
  { rule, match, trusted, episode }: FollowedMatch,
  known: KnownIntents,
): Proposal[] {
  return rule.then.flatMap(({ action, with: settings }) => {
    const traits = input.traits.get(action);
    if (!traits) return [];
    const own = traits.target.settingsOf?.(match.summary) ?? settings;
    return traits.target.of(match.summary, settings).map(
      (target): Proposal => ({
        rule,
        trusted,
        traits,
        settings: own,
        target,
        summary: summaryOfTarget(match.summary, traits, target, input.bundles),
        facts: match.facts,
        flip: match.flip,
        episode,
        devices: match.summary.kind === 'device' ? input.fleet.devicesOf(match.summary.serial) : [],
        intent: known.of(action, target, episode?.id),
        doubt: traits.changesFleet ? known.doubtOn({ action, target, settings: own }) : undefined,
        undo: false,
        ...cappedMode([rule], input),
        answer: undefined,
      }),
    );
  });
}

/** The lowest of the rules', the run's and the daemon's mode, and what made it lower than the rules' own. */
export function cappedMode(
  rules: readonly Rule[],
  input: DecideInput,
): Pick<Proposal, 'ownMode' | 'mode' | 'cappedBy'> {
  const ownMode = leastMode(...rules.map((rule) => rule.mode));
  const mode = leastMode(ownMode, input.runMode, input.daemonMode) as Mode;
  if (mode === ownMode) return { ownMode, mode, cappedBy: undefined };
  return { ownMode, mode, cappedBy: mode === input.daemonMode ? 'daemon' : 'run' };
}
