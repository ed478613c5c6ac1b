// history files: the segments of a history from one place on, each opened once and checked. In: a folder, the address that the records must be
// of. Out: segments that can be read, and stretches that are lost, with the cause. A file that is merged meanwhile is found again by its place.
import { lineOf } from '../../domain/errors.ts';
import type { HistoryGap } from '../../domain/recorded-history.ts';
import { type SegmentColumns, UnreadableSegment } from './segment-columns.ts';
import { listHistory, readSegment, type SegmentFile } from './segment-files.ts';

export interface WalkedSegment {
  kind: 'segment';
  segment: SegmentFile;
  columns: SegmentColumns;
  /** So many of its runs are before the place that was asked for. */
  skip: number;
  next: number;
}

export interface Lost extends HistoryGap {
  kind: 'lost';
  /** The first place after it. */
  next: number;
}

export class Walk {
  readonly #folder: string;
  #address: string | undefined;
  #segments: SegmentFile[];
  #bases: SegmentFile[];

  constructor(folder: string, address: string | undefined) {
    this.#folder = folder;
    this.#address = address;
    this.#segments = [];
    this.#bases = [];
    this.#list();
  }

  /** Those with runs, as the folder was listed last; in the order of recording. */
  get segments(): readonly SegmentFile[] {
    return this.#segments;
  }

  /** In the order of recording. */
  get bases(): readonly SegmentFile[] {
    return this.#bases;
  }

  get lastPlace(): number {
    return this.#segments.reduce((last, segment) => Math.max(last, segment.last), 0);
  }

  /** The segment that has this place; undefined after the last one. */
  at(place: number): WalkedSegment | Lost | undefined {
    for (let tries = 0; ; tries++) {
      const candidates = this.#segments.filter(({ first, last }) => first <= place && place <= last);
      let lost: { segment: SegmentFile; fault: UnreadableSegment } | undefined;
      for (const segment of candidates) {
        const opened = this.open(segment);
        if (!(opened instanceof UnreadableSegment)) {
          return { kind: 'segment', segment, columns: opened, skip: place - segment.first, next: segment.last + 1 };
        }
        if (!lost || lost.fault.reason === 'gone') lost = { segment, fault: opened };
      }
      if (lost?.fault.reason === 'gone' && tries < 3) {
        this.#list();
        continue;
      }
      return lost ? this.#unreadable(place, lost.segment, lost.fault) : this.#missing(place);
    }
  }

  open(segment: SegmentFile): SegmentColumns | UnreadableSegment {
    try {
      const columns = readSegment(segment);
      this.#address ??= this.#newestAddress();
      if (this.#address !== undefined && columns.about.address !== this.#address) {
        return new UnreadableSegment('foreign', 'it is of another API address');
      }
      return columns;
    } catch (error) {
      if (error instanceof UnreadableSegment) return error;
      throw error;
    }
  }

  /** Records of two addresses are two pasts: without a database to ask, the newest one counts. */
  #newestAddress(): string | undefined {
    for (const segment of [...this.#segments].reverse()) {
      try {
        return readSegment(segment).about.address;
      } catch (error) {
        if (!(error instanceof UnreadableSegment)) throw error;
      }
    }
    return undefined;
  }

  #unreadable(place: number, segment: SegmentFile, { reason, message }: UnreadableSegment): Lost {
    const { day, file, fromMs, toMs } = segment;
    // Smaller ones that it was made of may be there for some of its places.
    const inside = this.#segments
      .filter(({ first }) => first > place && first <= segment.last)
      .map(({ first }) => first);
    const next = Math.min(segment.last + 1, ...inside);
    const cause = reason === 'gone' ? 'damaged' : reason;
    return { kind: 'lost', fromMs, toMs, cause, text: `${day}/${baseName(file)}: ${message}`, next };
  }

  #missing(place: number): Lost | undefined {
    const before = this.#segments.findLast(({ last }) => last < place);
    const after = this.#segments.find(({ first }) => first > place);
    if (!after) return undefined;
    const text = `the segments of ${after.first - place === 1 ? 'one run are' : `${after.first - place} runs are`} missing`;
    return {
      kind: 'lost',
      fromMs: before?.toMs ?? after.fromMs,
      toMs: after.fromMs,
      cause: 'damaged',
      text,
      next: after.first,
    };
  }

  #list(): void {
    const { segments } = listHistory(this.#folder);
    this.#segments = segments.filter(({ level }) => level !== 'base');
    this.#bases = segments.filter(({ level }) => level === 'base');
  }
}

/** A segment that was opened, and whose rows cannot be read after all. */
export function undecoded({ segment, next }: WalkedSegment, error: unknown): Lost {
  const { day, file, fromMs, toMs } = segment;
  const text = `${day}/${baseName(file)}: it cannot be decoded (${causeOf(error)})`;
  return { kind: 'lost', fromMs, toMs, cause: 'damaged', text, next };
}

/** Why a row could not be read, without where that is seen. */
export function causeOf(error: unknown): string {
  return lineOf(error instanceof UnreadableSegment ? (error.cause ?? error) : error);
}

/** As it is shown: the checksum is long, and says nothing to a person. */
function baseName(file: string): string {
  return (file.split('/').at(-1) as string).replace(/\.[0-9a-f]{64}\./, '.');
}
