// explain: what only a whole run knows, as the last runs recorded it: whether the sources can be trusted, how many matched, and
// what was decided about this subject. In: the store, a rule, a subject. Out: these facts, with numbers and times of runs. Reads only.
import type { BasisReading, ExplainBasis, Recorded } from '../domain/explanation.ts';
import type { PullReader } from '../domain/pull-store.ts';
import type { RecordReader } from '../domain/record-reader.ts';
import type { SourceReading } from '../domain/snapshot.ts';
import { SOURCE_OF, SOURCES, type Source } from '../domain/subjects.ts';
import type { LoadedRule } from '../evaluate/index.ts';
import { skippedReading } from '../pull/pull-source.ts';
import { type JudgedRun, lastReading, RECENT_RUNS_MAX, recentRuns } from '../run/recent-runs.ts';
import type { ReadEvents } from './read-subject.ts';

/** The part of the store that shows what the last runs read and decided. */
export type LastRunsReader = Pick<RecordReader, 'runsOverLists' | 'latestRun' | 'decisions'> &
  Pick<PullReader, 'baseline'>;

export interface LastRuns {
  basis: ExplainBasis;
  recorded: Recorded;
  /** For deciding: the readings of the last runs, and the event log as read now. */
  sources: Record<Source, SourceReading>;
}

export interface Asked {
  rule: LoadedRule;
  subjectId: string;
  events: ReadEvents | undefined;
  nowMs: number;
  /** These are not the active rules: no run judged them. */
  isWhatIf: boolean;
}

const DECISIONS_MAX = 1_000;

export async function readLastRuns(reader: LastRunsReader, asked: Asked): Promise<LastRuns> {
  const { rule, events, isWhatIf } = asked;
  const runs = await recentRuns(reader);
  const run = isWhatIf ? undefined : runs.find((one) => tallyOf(one, rule));
  const lists = rule.sources.filter((source) => source !== 'events');
  return {
    sources: await readingsOf(reader, runs, asked),
    recorded: run ? await recordedIn(reader, run, asked) : { decisions: [], none: await notJudged(reader, isWhatIf) },
    basis: {
      run: run && basisRun(run, rule),
      sources: lists.map((source) => {
        const last = lastReading(runs, source);
        const reading = last?.reading ?? skippedReading(source, asked.nowMs);
        return { source, seq: last?.run.seq, ...basisReading(reading, last?.reading.finishedAt) };
      }),
      events: events && basisReading(events.reading, events.atMs),
    },
  };
}

/** The same without a rule: how each source was last read. */
export async function readLastReadings(
  reader: LastRunsReader,
  asked: Pick<Asked, 'events' | 'nowMs'>,
): Promise<LastRuns['sources']> {
  return readingsOf(reader, await recentRuns(reader), asked);
}

/** Always has a count: if the last reading has none, shares are taken of the last trusted count. */
async function readingsOf(
  reader: LastRunsReader,
  runs: readonly JudgedRun[],
  { events, nowMs }: Pick<Asked, 'events' | 'nowMs'>,
): Promise<LastRuns['sources']> {
  const readings = {} as LastRuns['sources'];
  for (const source of SOURCES) {
    const last = lastReading(runs, source)?.reading ?? { ...skippedReading(source, nowMs), state: 'read' as const };
    const isCounted = last.state === 'read' && last.form !== 'none';
    readings[source] = isCounted ? last : { ...last, count: (await reader.baseline(source))?.count ?? 1 };
  }
  return events ? { ...readings, events: events.reading } : readings;
}

async function recordedIn(reader: LastRunsReader, run: JudgedRun, { rule, subjectId }: Asked): Promise<Recorded> {
  const query = { inForceIn: run.seq, rule: rule.id, subjectId, limit: DECISIONS_MAX };
  const decisions = (await reader.decisions(query)).reverse();
  return { decisions, none: decisions.length > 0 ? undefined : notRecorded(run, rule, subjectId) };
}

async function notJudged(reader: LastRunsReader, isWhatIf: boolean): Promise<string> {
  if (isWhatIf) return 'no run has judged these rules: they are not the active ones';
  return (await reader.latestRun())
    ? `none of the last ${RECENT_RUNS_MAX} runs judged this rule`
    : 'no run has judged this rule yet';
}

/** INVARIANT: reports that the rule did not match only if that run left nothing out. */
function notRecorded(run: JudgedRun, rule: LoadedRule, subjectId: string): string {
  const { examples = [], unknown = 0, error = 0 } = tallyOf(run, rule) ?? {};
  const example = examples.find(({ subject }) => subject === subjectId);
  if (example) return `its verdict was ${example.verdict}: ${example.reason}`;
  const isTrusted = rule.sources.every((source) => run.findings.snapshot.sources[source].trusted);
  return isTrusted && examples.length === unknown + error
    ? 'the rule did not match it'
    : 'nothing is recorded: of unknown verdicts, and of matches on untrusted data, a run keeps examples only';
}

function tallyOf({ findings }: JudgedRun, rule: LoadedRule) {
  return findings.tallies.find((tally) => tally.rule === rule.id && tally.judged);
}

function basisRun(run: JudgedRun, rule: LoadedRule): ExplainBasis['run'] {
  const { id, seq, startedAt, mode, findings } = run;
  const tally = tallyOf(run, rule);
  const subjects = findings.snapshot.sources[SOURCE_OF[rule.subject]].count;
  return { id, seq, at: startedAt, mode, match: tally?.match ?? 0, subjects, wasEdited: tally?.hash !== rule.hash };
}

function basisReading({ state, trusted, reasons }: SourceReading, atMs: number | undefined): BasisReading {
  return { state, trusted, at: atMs, reasons: reasons.map(({ text }) => text) };
}
