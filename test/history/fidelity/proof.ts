import type { HistoryReader, RecordedRun } from '../../../src/domain/recorded-history.ts';
import type { Replay, ReplayDifference } from '../../../src/domain/replay.ts';
import { SUBJECT_KINDS } from '../../../src/domain/subjects.ts';
import { type MonthOptions, type PlayedMonth, playMonth } from './month.ts';
import { MonthFolder } from './month-folder.ts';
import { MonthMemory } from './month-memory.ts';
import { type Listed, RecordedFacts } from './recorded-facts.ts';
import { recordedRuns, replayed } from './replayed.ts';
import { recordedOtherwise } from './what-was-made.ts';

export interface Proof {
  months: number;
  runs: number;
  looks: number;
  decisions: number;
  /** Of the decisions: those that rest on signals, and on facts from elsewhere. */
  onSignals: number;
  onGiven: number;
  deaths: number;
  gaps: number;
  /** Gaps by their cause. */
  causes: { [cause: string]: number };
  /** By reason, without the numbers and names in it. */
  explained: { [reason: string]: number };
  /** One line each: what was recorded, or replayed, otherwise than it was, and nothing explains it. */
  unexplained: string[];
}

export function noProof(): Proof {
  const counts = { months: 0, runs: 0, looks: 0, decisions: 0, onSignals: 0, onGiven: 0, deaths: 0, gaps: 0 };
  return { ...counts, causes: {}, explained: {}, unexplained: [] };
}

export async function proveMonth(seed: number, options: MonthOptions = {}): Promise<Proof> {
  // Every third one is written to disk: segments, merged to hours and days.
  const recording = seed % 3 === 0 ? new MonthFolder(seed) : new MonthMemory(seed);
  try {
    // In memory, nothing names the runs that were lost, and what rules that look back know of the time is not in the record.
    const month = await playMonth(seed, recording, { looksBack: recording.tellsGaps, ...options });
    const proof = await proofOf(month, recording, recording.reader());
    month.db.close();
    return proof;
  } finally {
    recording.remove();
  }
}

/** What the harness knows of a recording. */
interface Known {
  /** Ids of runs that were not recorded. */
  lost: ReadonlySet<string>;
  /** Ids of subjects that were forgotten, and what stands in for them. */
  forgotten: ReadonlySet<string>;
  /** Files that were damaged. */
  damaged: number;
  /** Whether the reader names runs that are missing. */
  tellsGaps: boolean;
}

async function proofOf(month: PlayedMonth, known: Known, reader: HistoryReader): Promise<Proof> {
  const { seed, runs, looks, decisions, deaths } = month;
  const recorded = await recordedRuns(reader);
  const replay = await replayed(reader);
  const facts = new RecordedFacts();
  const differences = replay.differences.filter((one) => !isTrue(one, month, known, replay, recorded));
  const unexplained = [
    ...[
      ...recorded.flatMap((run) => recordedOtherwise(month.made, run)),
      ...(known.damaged > 0 ? [] : recorded.flatMap((run) => facts.differences(run, listedIn(month, run)))),
    ].filter((line) => !isForgotten(line, known)),
    ...unrecorded(month, known, recorded, replay),
    ...differences.map(differenceText),
  ].map((line) => `seed ${seed}: ${line}`);
  const [explained, causes]: [Proof['explained'], Proof['causes']] = [{}, {}];
  for (const { cause } of replay.gaps) addTo(causes, cause, 1);
  for (const one of replay.differences) if (!differences.includes(one)) addTo(explained, reasonOf(one), 1);
  const rested = [restedOn(month, /_signal\(|signal_count\(/), restedOn(month, /\$facts\./)] as const;
  const counts = { months: 1, runs, looks, decisions, onSignals: rested[0], onGiven: rested[1], deaths };
  return { ...counts, gaps: replay.gaps.length, causes, explained, unexplained };
}

function restedOn({ made }: PlayedMonth, fact: RegExp): number {
  const decisions = [...made.values()].flatMap(({ commit }) => commit.decisions);
  return decisions.filter(({ facts }) => Object.keys(facts).some((path) => fact.test(path))).length;
}

/** What was removed of one subject is missing, and names in records of others are other ones. */
function isForgotten(line: string, { forgotten }: Known): boolean {
  return forgotten.size > 0 && (line.match(/[\w@.-]+/g) ?? []).some((word) => forgotten.has(word));
}

function listedIn({ made }: PlayedMonth, { frame }: RecordedRun): Listed {
  return made.get(frame.run.id)?.listed ?? {};
}

/** Runs that were committed are recorded and replayed, or the harness knows that they were lost, and a gap names them. */
function unrecorded(month: PlayedMonth, known: Known, recorded: RecordedRun[], replay: Replay): string[] {
  const found = new Set(recorded.map(({ frame }) => frame.run.id));
  const lost = [...month.made.keys()].filter((id) => !found.has(id));
  const lines = lost
    .filter((id) => !known.lost.has(id) && !month.diedAfter.has(id) && known.damaged === 0)
    .map((id) => `run ${id} was committed, and is not in the record`);
  if (replay.runs !== recorded.length) lines.push(`${recorded.length} runs are recorded, and ${replay.runs} replayed`);
  if (known.tellsGaps && lost.length > 0 && replay.gaps.length === 0)
    lines.push(`${lost.length} runs were lost, and no gap names them`);
  return lines;
}

/** Whether what a difference is explained by was so. */
function isTrue(
  one: ReplayDifference,
  month: PlayedMonth,
  known: Known,
  { gaps }: Replay,
  recorded: readonly RecordedRun[],
): boolean {
  const { isExplained, reason, atMs, runSeq } = one;
  if (!isExplained) return false;
  if (/the clock had been set back/.test(reason)) return month.hasJumped;
  if (/older ones were not kept/.test(reason)) return month.edits > 0;
  if (/the record begins at/.test(reason))
    return [...month.made.values()].some(({ seq }) => seq < (recorded[0]?.frame.run.seq ?? 0));
  if (/each subject once/.test(reason)) return listsTwice(month, runSeq);
  if (/had a secret/.test(reason)) return /Note\.api_token/.test(reason) && showsSecret(month, runSeq);
  const gap = gaps.find(({ text, fromMs }) => text === reason && fromMs <= atMs);
  if (gap?.cause === 'forgotten') return known.forgotten.size > 0;
  if (gap?.cause === 'not_recorded') return isMissing(gap.text, recorded);
  return gap !== undefined && known.damaged > 0;
}

/** Whether the runs that a gap names are really not in the record. */
function isMissing(text: string, recorded: readonly RecordedRun[]): boolean {
  const [first = Number.NaN, last = first] = (text.match(/\d+/g) ?? []).map(Number);
  return first <= last && !recorded.some(({ frame }) => frame.run.seq >= first && frame.run.seq <= last);
}

/** Whether a device had one until then: a fact that a secret was in. */
function showsSecret({ made }: PlayedMonth, runSeq: number): boolean {
  return [...made.values()].some(({ seq, hasShownSecret }) => seq <= runSeq && hasShownSecret);
}

function listsTwice({ made }: PlayedMonth, runSeq: number): boolean {
  const run = [...made.values()].find(({ seq }) => seq === runSeq);
  const keys = { device: 'DeviceID', user: 'Email', service: 'ServiceID' } as const;
  return SUBJECT_KINDS.some((kind) => {
    const ids = run?.listed[kind]?.map((record) => record[keys[kind]]) ?? [];
    return new Set(ids).size < ids.length;
  });
}

function differenceText({ runSeq, rule, target, was, is, reason, isExplained }: ReplayDifference): string {
  const why = isExplained ? `explained by what was not so: ${reason}` : reason;
  return `run ${runSeq}, rule ${rule}, ${target}: was ${was ?? 'nothing'}, is ${is ?? 'nothing'} (${why})`;
}

function reasonOf({ reason }: ReplayDifference): string {
  return reason.replace(/`[^`]*`/g, '…').replace(/\d[\d:.TZ-]*/g, 'N');
}

export function addProof(sum: Proof, { causes, explained, unexplained, ...counts }: Proof): void {
  for (const name of Object.keys(counts) as (keyof typeof counts)[]) sum[name] += counts[name];
  for (const [cause, count] of Object.entries(causes)) addTo(sum.causes, cause, count);
  for (const [reason, count] of Object.entries(explained)) addTo(sum.explained, reason, count);
  sum.unexplained.push(...unexplained);
}

function addTo(counts: { [reason: string]: number }, reason: string, count: number): void {
  counts[reason] = (counts[reason] ?? 0) + count;
}

export function proofLine(proof: Proof): string {
  const { months, runs, looks, decisions, onSignals, onGiven, deaths, gaps, causes, explained, unexplained } = proof;
  const reasons = Object.entries(explained).map(([reason, count]) => `${count} ${reason}`);
  const by = Object.entries(causes)
    .map(([cause, count]) => `${count} ${cause}`)
    .join(', ');
  const rested = `${decisions} decisions (${onSignals} on signals, ${onGiven} on facts from elsewhere)`;
  const counts = `${months} months, ${runs} runs, ${rested}, ${looks} looks, ${deaths} kills, ${gaps} gaps (${by})`;
  return `${counts}: ${unexplained.length} unexplained differences${['', ...reasons].join('; ')}`;
}
