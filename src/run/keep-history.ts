// run: hands what a run saw, and what its decisions rest on, to the history. In: the input of deciding, the snapshot, what was committed. Out:
// nothing; it is recorded meanwhile. INVARIANT: it never stops a run, and runs that were not committed are not recorded.
import type { DecideInput } from '../decide/input.ts';
import { lineOf } from '../domain/errors.ts';
import type { NamedAct } from '../domain/named-act.ts';
import type { RecordedPart, SeenRun } from '../domain/recorded-history.ts';
import type { Run } from '../domain/run.ts';
import type { RunCommit } from '../domain/store.ts';
import { SOURCES } from '../domain/subjects.ts';
import { type Engine, isClockRight, type RunRules } from './engine.ts';
import type { PulledSnapshot } from './pulled-snapshot.ts';

export async function keepHistory(
  engine: Engine,
  run: Run,
  rules: RunRules,
  pulled: PulledSnapshot,
  input: DecideInput,
  commit: Pick<RunCommit, 'decisions' | 'endedDecisions'>,
): Promise<void> {
  const { history, store, log } = engine;
  if (!history) return;
  try {
    history.record(seenRun(engine, run, rules, pulled, input, commit, await store.lastEventNo()));
  } catch (error) {
    log.warn({ run: run.id }, `the run could not be recorded in the history: ${lineOf(error)}`);
  }
}

function seenRun(
  engine: Pick<Engine, 'api' | 'settings' | 'silence'>,
  run: Run,
  { hash, files = new Map() }: RunRules,
  pulled: PulledSnapshot,
  input: DecideInput,
  commit: Pick<RunCommit, 'decisions' | 'endedDecisions'>,
  eventsTo: number,
): SeenRun {
  const { lists = 'v1', trust } = engine.settings;
  const { sources } = pulled.snapshot;
  const { settings, steady, quietMs, freeze, judged, unjudged, activeRules, bundles, openState } = input;
  const { ceilings, goneAfterMs, serialDevicesMax, perDayTimes, placeholderSerials, credential } = settings;
  const isSame = SOURCES.every((source) => input.sources[source] === sources[source]);
  return {
    frame: {
      run,
      steady,
      quietMs,
      freeze,
      settings: {
        ...{ ceilings, goneAfterMs, serialDevicesMax, perDayTimes, placeholderSerials, credential, lists },
        trust: { ...trust },
      },
      activeRules: [...activeRules.keys()],
      judged: judged.map(({ id }) => id),
      unjudged: unjudged.map(({ id }) => id),
      sources,
      decidedOn: isSame ? undefined : input.sources,
      coverage: pulled.view.coverage,
      unavailable: [...pulled.view.unavailable],
      bundles,
      ownReads: input.ownReads,
      namedActs: namedActsOf(input),
      eventsTo,
      part: partOf(input, pulled),
      silentSince: engine.silence?.since ?? null,
    },
    seen: pulled.seen,
    openState,
    written: commit.decisions,
    ended: commit.endedDecisions,
    ruleSet: { hash, files },
    isClockRight: isClockRight(engine),
  };
}

/** Who it was changes nothing, and records of people can be removed from the history only where they are rows of their own. */
function namedActsOf({ namedActs = [] }: DecideInput): readonly NamedAct[] | undefined {
  return namedActs.length === 0 ? undefined : namedActs.map(({ by, ...act }) => act);
}

function partOf({ part }: DecideInput, { read = [], joined = [] }: PulledSnapshot): RecordedPart | undefined {
  return part && { sinceSeq: part.sinceSeq, counted: part.counted, attempts: part.attempts, read, joined };
}
