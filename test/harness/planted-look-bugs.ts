// harness: more planted bugs: a look counts alone, ends something, believes a forged event, or rests on a whole run that was not trusted or is
// long past. In: the parts of a healthy engine. Out: the parts of a sick one. Nothing in the product knows of these.
import type { Episode } from '../../src/domain/episode.ts';
import type { RunFindings } from '../../src/domain/run.ts';
import type { SourceReading } from '../../src/domain/snapshot.ts';
import type { Source } from '../../src/domain/subjects.ts';
import type { EngineStore } from '../../src/engine/run/engine.ts';
import { type PlantedBug, replaced } from './planted-bugs.ts';

export function lookingStore(store: EngineStore, bug: PlantedBug | undefined): EngineStore {
  switch (bug) {
    case 'look_counts_alone':
      return replaced(store, { countedSince: async () => [] });
    case 'look_has_a_ceiling_of_its_own':
      return replaced(store, { attemptsOfRun: async () => new Map() });
    case 'look_rests_on_an_untrusted_run':
      return replaced(store, {
        lastWholeRun: async (known) => {
          const whole = await store.lastWholeRun(known);
          return whole?.findings && { ...whole, findings: believed(whole.findings) };
        },
      });
    case 'look_ends_an_episode':
      return replaced(store, {
        commitRun: async (commit) => {
          if (!commit.observed) return store.commitRun(commit);
          const { episodes } = await store.openState(commit.observed.forgetBeforeMs);
          const open = episodes.find((one) => !commit.episodes.some(({ id }) => id === one.id));
          await store.commitRun({ ...commit, episodes: [...commit.episodes, ...(open ? [cleared(open)] : [])] });
        },
      });
    default:
      return store;
  }
}

function believed({ snapshot, tallies, ...findings }: RunFindings): RunFindings {
  const sources = Object.entries(snapshot.sources).map(([source, reading]) => [
    source,
    reading.state === 'skipped' ? reading : { ...reading, state: 'read', trusted: true },
  ]);
  return {
    ...findings,
    snapshot: { ...snapshot, sources: Object.fromEntries(sources) as Record<Source, SourceReading> },
    tallies: tallies.map((tally) => ({ ...tally, judged: true })),
  };
}

function cleared(episode: Episode): Episode {
  return { ...episode, state: 'closed', closedAt: episode.stateSince, closeReason: 'cleared' };
}
