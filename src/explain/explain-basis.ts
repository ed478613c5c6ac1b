// explain: what explaining one subject cannot read of that subject: how sources were last read, how many others match. Runs
// know. In: the store, a rule. Out: the last run's word, with its number and time. Reads the store only.

import type { PullReader } from '../domain/pull-store.ts';
import type { RecordReader } from '../domain/record-reader.ts';
import type { SourceReading } from '../domain/snapshot.ts';
import type { RunRecord } from '../domain/store.ts';
import { SOURCE_OF, SOURCES, type Source } from '../domain/subjects.ts';
import type { LoadedRule } from '../evaluate/index.ts';
import { skippedReading } from '../pull/pull-source.ts';
import type { ReadEvents } from './read-events.ts';

export type BasisReader = Pick<RecordReader, 'runs'> & Pick<PullReader, 'baseline'>;

/** What an explanation rests on besides the records that it read, and as of when. */
export interface ExplainBasis {
  /** The last run that judged this rule. Undefined: none has, and limits, owners and ceilings count this subject alone. */
  run: BasisRun | undefined;
  /** How the rule's lists were last read, whether they were trusted. */
  sources: BasisSource[];
  /** The event log; undefined when the rule counts none. */
  events: BasisEvents | undefined;
}

interface BasisRun {
  id: string;
  seq: number;
  atMs: number;
  /** Subjects that matched, of so many. */
  match: number;
  subjects: number;
  /** The rule says something else now. */
  wasEdited: boolean;
}

type BasisSource = Pick<SourceReading, 'source' | 'state' | 'trusted'> & {
  seq: number;
  atMs: number;
  reasons: string[];
};

type BasisEvents = Pick<SourceReading, 'state' | 'trusted'> & { atMs: number | undefined; reasons: string[] };

/** A source that none of so many runs read is not told. */
export const RUNS_MAX = 20;

export interface EarlierAnswers {
  basis: ExplainBasis;
  /** For deciding: as of the last runs, and the event log as it was read now. */
  sources: Record<Source, SourceReading>;
}

export async function earlier(
  reader: BasisReader,
  rule: LoadedRule,
  events: ReadEvents | undefined,
  nowMs: number,
): Promise<EarlierAnswers> {
  const runs = (await reader.runs(RUNS_MAX)).filter(({ findings }) => findings !== undefined);
  const sources = {} as Record<Source, SourceReading>;
  for (const source of SOURCES) sources[source] = await readingOf(reader, runs, source, nowMs);
  if (events) sources.events = events.reading;
  const told = rule.sources.filter((source) => source !== 'events');
  return {
    sources,
    basis: {
      run: basisRun(runs, rule),
      sources: told.flatMap((source) => basisSource(runs, source)),
      events: events && basisEvents(events),
    },
  };
}

/** The last reading of a source, of runs with the newest first. */
export function lastRead(
  runs: readonly RunRecord[],
  source: Source,
): { run: RunRecord; reading: SourceReading } | undefined {
  for (const run of runs) {
    const reading = run.findings?.snapshot.sources[source];
    if (reading && reading.state !== 'skipped') return { run, reading };
  }
  return undefined;
}

/** With a count also where the last reading has none: shares are counted of what was last trusted. */
async function readingOf(
  reader: Pick<PullReader, 'baseline'>,
  runs: readonly RunRecord[],
  source: Source,
  nowMs: number,
): Promise<SourceReading> {
  const last = lastRead(runs, source)?.reading;
  if (last?.state === 'read') return last;
  const count = (await reader.baseline(source))?.count ?? 1;
  return last ? { ...last, count } : { ...skippedReading(source, nowMs), state: 'read', count };
}

function basisRun(runs: readonly RunRecord[], rule: LoadedRule): BasisRun | undefined {
  for (const { id, seq, startedAt, findings } of runs) {
    const tally = findings?.tallies.find((one) => one.rule === rule.id && one.judged);
    if (!tally || !findings) continue;
    const subjects = findings.snapshot.sources[SOURCE_OF[rule.subject]].count;
    return { id, seq, atMs: startedAt, match: tally.match, subjects, wasEdited: tally.hash !== rule.hash };
  }
  return undefined;
}

function basisSource(runs: readonly RunRecord[], source: Source): BasisSource[] {
  const last = lastRead(runs, source);
  if (!last) return [];
  const { state, trusted, finishedAt, reasons } = last.reading;
  return [{ source, seq: last.run.seq, atMs: finishedAt, state, trusted, reasons: reasons.map(({ text }) => text) }];
}

function basisEvents({ reading: { state, trusted, reasons }, atMs }: ReadEvents): BasisEvents {
  return { state, trusted, atMs, reasons: reasons.map(({ text }) => text) };
}
