// decide, second step: matches → wishes: one for each action of the rule and each target of the subject.
import type { ActionName } from '../domain/action.ts';
import { summaryOfTarget } from '../domain/bundles.ts';
import { mappingSettings } from '../domain/deletion.ts';
import { type Facts, ownText } from '../domain/facts.ts';
import { type Intent, isUnresolved } from '../domain/intent.ts';
import { leastMode, type Mode } from '../domain/mode.ts';
import type { Rule } from '../domain/rule.ts';
import type { SubjectSummary } from '../domain/target.ts';
import { type ActionOnTarget, targetKey } from '../domain/target-key.ts';
import type { FollowedMatch } from './episodes.ts';
import type { DecideInput } from './input.ts';
import type { Proposal } from './proposal.ts';

/** Live intents by action, target and episode: the look-up that tells what an episode has already led to. */
export class KnownIntents {
  private readonly byKey = new Map<string, Intent>();
  private readonly doubts = new Map<string, Intent>();
  private readonly ids = new Map<string, Intent>();

  constructor(intents: readonly Intent[]) {
    for (const intent of intents) {
      this.ids.set(intent.id, intent);
      if (intent.mode === 'dry-run' || intent.status === 'withdrawn') continue;
      if (isUnresolved(intent)) this.doubts.set(targetKey(intent), intent);
      for (const { episodeId } of intent.basis) this.byKey.set(key(intent.action, intent.target, episodeId), intent);
    }
  }

  byId(id: string): Intent | undefined {
    return this.ids.get(id);
  }

  /** Of this target, an intent whose effect is not known yet. */
  doubtOn(aim: ActionOnTarget): Intent | undefined {
    return this.doubts.get(targetKey(aim));
  }

  of(action: ActionName, target: string, episodeId: string | undefined): Intent | undefined {
    return episodeId === undefined ? undefined : this.byKey.get(key(action, target, episodeId));
  }
}

function key(action: ActionName, target: string, episodeId: string): string {
  return `${action}\u0000${target}\u0000${episodeId}`;
}

export function proposalsOf(input: DecideInput, matches: readonly FollowedMatch[], known: KnownIntents): Proposal[] {
  return matches.flatMap(({ rule, match, trusted, episode }) =>
    rule.then.flatMap(({ action, with: settings }) => {
      const traits = input.traits.get(action);
      if (!traits) return [];
      return targetsOf(action, match.summary, settings).map(
        ([target, own = settings]): Proposal => ({
          rule,
          trusted,
          traits,
          settings: own,
          target,
          summary: summaryOfTarget(match.summary, traits, target, input.bundles),
          facts: match.facts,
          episode,
          devices: match.summary.kind === 'device' ? input.fleet.devicesOf(match.summary.serial) : [],
          intent: known.of(action, target, episode?.id),
          doubt: traits.changesFleet ? known.doubtOn({ action, target, settings: own }) : undefined,
          undo: false,
          ...cappedMode([rule], input),
          answer: undefined,
        }),
      );
    }),
  );
}

/**
 * A ban's target is a serial number, a user's deletion one for each of its devices, a bundle's a service and the bundle, all
 * else the subject itself. A user of whom no device is known is the target too, so that this is told and not passed over.
 * Which user is meant stands in the settings of the wish: the target's text alone does not tell.
 */
function targetsOf(action: ActionName, summary: SubjectSummary, settings: Facts): [target: string, settings?: Facts][] {
  if (action === 'add_to_bundle' || action === 'remove_from_bundle') {
    return [[`${summary.id} ${ownText(settings, 'bundle') ?? ''}`]];
  }
  if (action === 'notify' || summary.kind === 'service') return [[summary.id]];
  if (summary.kind === 'device') return [[summary.serial]];
  if (hasNoKnownDevice(summary)) return [[summary.id]];
  return (summary.serials ?? []).map((serial) => [`${serial} ${summary.id}`, mappingSettings(summary.id)]);
}

/** A user without devices, or one of whom the server does not tell. */
export function hasNoKnownDevice({ serials }: SubjectSummary): boolean {
  return serials === undefined || serials.length === 0;
}

/** The least of the rules', the run's and the daemon's mode, and what made it less than the rules' own. */
export function cappedMode(
  rules: readonly Rule[],
  input: DecideInput,
): Pick<Proposal, 'ownMode' | 'mode' | 'cappedBy'> {
  const ownMode = leastMode(...rules.map((rule) => rule.mode));
  const mode = leastMode(ownMode, input.runMode, input.daemonMode) as Mode;
  if (mode === ownMode) return { ownMode, mode, cappedBy: undefined };
  return { ownMode, mode, cappedBy: mode === input.daemonMode ? 'daemon' : 'run' };
}
