// history files: what the writer does between two runs: segments of runs become one of an hour, those of a day one of a day, each next day gets its
// base, and days that are older than they are kept go. In: a folder. Out: the same history in fewer files. Killed at any step it has lost nothing,
// and the next time goes on: what was made of others takes their place only when it is on the disk.
import { standingInParts } from './begin.ts';
import type { SegmentAbout } from './segment-bytes.ts';
import { type SegmentColumns, UnreadableSegment } from './segment-columns.ts';
import { listHistory, NewSegment, readSegment, removeSegments, type SegmentFile } from './segment-files.ts';
import type { SegmentLevel } from './segment-name.ts';
import { addRows, decodeGroup } from './segment-rows.ts';
import type { Standing } from './standing.ts';
import { Walk } from './walk.ts';

export interface TidyOptions {
  program: string;
  address: string;
  nowMs: number;
  /** How long a day is kept. */
  keepMs: number;
  /** How long an event is carried on in bases, for the windows of rules. */
  eventsKeptMs?: number;
  /** How many changes of a day are held at once when its base is made. */
  changesMax?: number;
}

export interface Tidied {
  merged: number;
  bases: number;
  removed: number;
  /** The files do not give what holds at the beginning of this day: the recorder, who knows it, is to write a base. */
  needsBase: boolean;
}

/** INVARIANT: the caller is the only writer. Errors: AppError `store_failed`, such as for a full disk; then it is as it was. */
export async function tidyHistory(folder: string, options: TidyOptions): Promise<Tidied> {
  const removed = removeReplaced(folder);
  const merged = mergeAll(folder, options);
  const { bases, needsBase } = await makeBases(folder, options);
  return { merged, bases, removed: removed + prune(folder, options), needsBase };
}

/** Files whose rows are all in another one, which is whole: a process was killed before it removed them. */
function removeReplaced(folder: string): number {
  const { segments } = listHistory(folder);
  const replaced = segments.filter((one) => segments.some((other) => replaces(other, one) && isWhole(other)));
  if (replaced.length > 0) removeSegments(folder, replaced);
  return replaced.length;
}

function replaces(other: SegmentFile, one: SegmentFile): boolean {
  if (other === one || (other.level === 'base') !== (one.level === 'base')) return false;
  if (other.first === one.first && other.last === one.last) {
    return other.rewrites > one.rewrites || (other.rewrites === one.rewrites && other.file < one.file);
  }
  return other.level !== 'base' && other.first <= one.first && one.last <= other.last;
}

function isWhole(segment: SegmentFile): boolean {
  return opened(segment) !== undefined;
}

function opened(segment: SegmentFile): SegmentColumns | undefined {
  try {
    return readSegment(segment);
  } catch (error) {
    if (error instanceof UnreadableSegment) return undefined;
    throw error;
  }
}

function runSegments(folder: string): SegmentFile[] {
  return listHistory(folder).segments.filter(({ level }) => level !== 'base');
}

const HOUR_MS = 3_600_000;

function mergeAll(folder: string, options: TidyOptions): number {
  const segments = runSegments(folder);
  const newest = segments.at(-1);
  if (!newest) return 0;
  const hourOf = ({ toMs }: SegmentFile) => Math.floor(toMs / HOUR_MS);
  /** Segments of one key become one. */
  const keyOf = (one: SegmentFile): string | undefined => {
    if (one.day !== newest.day) return one.day;
    return hourOf(one) === hourOf(newest) ? undefined : `${one.day} ${hourOf(one)}`;
  };
  let merged = 0;
  for (let at = 0; at < segments.length; ) {
    const key = keyOf(segments[at] as SegmentFile);
    const list: SegmentFile[] = [];
    for (; at < segments.length; at++) {
      const segment = segments[at] as SegmentFile;
      if (list.length > 0 && (keyOf(segment) !== key || segment.first !== (list.at(-1) as SegmentFile).last + 1)) break;
      list.push(segment);
    }
    if (key !== undefined && list.length > 1)
      merged += mergeReadable(folder, list, key.includes(' ') ? 'hour' : 'day', options);
  }
  return merged;
}

/** That rows cannot be decoded shows while they are merged: only then each is looked at before. */
function mergeReadable(
  folder: string,
  list: readonly SegmentFile[],
  level: SegmentLevel,
  options: TidyOptions,
): number {
  try {
    return merge(folder, list, level, options);
  } catch (error) {
    if (!(error instanceof UnreadableSegment)) throw error;
    return merge(folder, list, level, options, isDecodable);
  }
}

function isDecodable({ groups }: SegmentColumns): boolean {
  try {
    for (const group of groups) decodeGroup(group);
    return true;
  } catch {
    return false;
  }
}

interface Part {
  segment: SegmentFile;
  about: SegmentAbout;
}

/** One that cannot be read stays as it is, and those around it become one each. */
function merge(
  folder: string,
  list: readonly SegmentFile[],
  level: SegmentLevel,
  options: TidyOptions,
  isSound: (columns: SegmentColumns) => boolean = () => true,
): number {
  let parts: Part[] = [];
  let made = 0;
  const finish = () => {
    if (parts.length > 1) {
      mergeWhole(folder, parts, level, options);
      made++;
    }
    parts = [];
  };
  for (const segment of list) {
    const found = opened(segment);
    const columns = found && isSound(found) ? found : undefined;
    if (!columns || (parts[0] && parts[0].about.address !== columns.about.address)) finish();
    if (columns) parts.push({ segment, about: columns.about });
  }
  finish();
  return made;
}

function mergeWhole(folder: string, parts: readonly Part[], level: SegmentLevel, { program }: TidyOptions): void {
  const [first, last] = [parts[0], parts.at(-1)] as [Part, Part];
  const forgotten = parts.flatMap(({ about }) => about.forgotten);
  const name = {
    first: first.segment.first,
    last: last.segment.last,
    level,
    rewrites: Math.max(...parts.map(({ segment }) => segment.rewrites)),
    fromMs: first.segment.fromMs,
    toMs: last.segment.toMs,
  };
  const made = new NewSegment(folder, { program, address: first.about.address, forgotten });
  try {
    // Read again, one after another: a day of them is too much to be held.
    for (const { segment } of parts) addRows(readSegment(segment), made);
    made.finish(name, first.segment.day);
  } finally {
    made.discard();
  }
  const files = parts.map(({ segment }) => segment);
  removeSegments(folder, files);
}

const EVENTS_KEPT_MS = 31 * 24 * HOUR_MS;

async function makeBases(folder: string, options: TidyOptions): Promise<Pick<Tidied, 'bases' | 'needsBase'>> {
  const { program, address, eventsKeptMs = EVENTS_KEPT_MS } = options;
  const segments = runSegments(folder);
  let bases = 0;
  let needsBase = false;
  for (const [at, segment] of segments.entries()) {
    const next = segments[at + 1];
    if (!next || next.day === segment.day) continue;
    const walk = new Walk(folder, address);
    if (walk.bases.some(({ last }) => last === next.first - 1)) continue;
    const made = new NewSegment(folder, { program, address, forgotten: [] });
    try {
      let isLost = false;
      for await (const part of standingInParts(walk, next.first, options.changesMax)) {
        isLost = 'lost' in part;
        if (!('lost' in part)) addStanding(part, made, segment.toMs - eventsKeptMs);
      }
      if (isLost) needsBase = walk.bases.every(({ last }) => last < next.first);
      if (isLost) continue;
      const name = { first: segment.last, last: segment.last, level: 'base', rewrites: 0 } as const;
      made.finish({ ...name, fromMs: segment.toMs, toMs: segment.toMs }, next.day);
      bases++;
    } finally {
      made.discard();
    }
  }
  return { bases, needsBase };
}

/** Older events are in no window. */
function addStanding(standing: Standing, { rows }: NewSegment, eventsFromMs: number): void {
  for (const row of standing.rows(() => true)) if (row.kind !== 'event' || row.at >= eventsFromMs) rows.addRow(row);
}

/** The oldest base that is kept can be read: nothing before it is removed otherwise. */
function prune(folder: string, { nowMs, keepMs }: TidyOptions): number {
  const { segments } = listHistory(folder);
  const isOld = (base: SegmentFile) =>
    segments.some(
      ({ level, first, fromMs }) => level !== 'base' && first === base.last + 1 && fromMs <= nowMs - keepMs,
    );
  const oldest = segments.findLast((one) => one.level === 'base' && isOld(one) && isWhole(one));
  if (!oldest) return 0;
  const old = segments.filter(({ level, last }) => last < oldest.last || (level !== 'base' && last === oldest.last));
  if (old.length > 0) removeSegments(folder, old);
  return old.length;
}
