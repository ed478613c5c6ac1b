// history files: the runs of a segment: its facts as changes, its other rows as they are. In: columns, which facts are wanted. Out: one run after
// another. Millions of rows go through here: each dictionary is looked at once, and no object is made of a row that nobody wants.
import type { Fact } from '../../domain/facts.ts';
import type { FactChange } from '../../domain/recorded-history.ts';
import { SUBJECT_KINDS, type SubjectKind } from '../../domain/subjects.ts';
import { factOf, SECRET_TEXT } from '../fact-text.ts';
import { factKindOf, type HistoryRow } from '../rows.ts';
import type { CodedColumn, CodedTexts, SegmentColumns } from './segment-columns.ts';
import { type DecodedGroup, decodeGroup, RunBoundaries, rowAt } from './segment-rows.ts';

export interface ScannedRun {
  run: number;
  atMs: number;
  changes: FactChange[];
  /** Without facts. */
  rows: HistoryRow[];
}

export interface Wanted {
  fact(kind: SubjectKind, path: string): boolean;
  /** Of rows that are no facts. */
  row(kind: string): boolean;
  /** Only rows of this subject; undefined: all. */
  subject?: string | undefined;
  /** Without facts of readings that were not trusted. */
  standingOnly?: boolean;
}

/** Runs in order; a run is given when all its rows were read. */
export function* scanRuns({ groups }: SegmentColumns, wanted: Wanted): Generator<ScannedRun> {
  const boundaries = new RunBoundaries();
  let current: ScannedRun | undefined;
  for (const group of groups) {
    const decoded = decodeGroup(group);
    const classes = classesOf(decoded, wanted);
    const values = new Map<number, Fact | typeof SECRET>();
    const subjects = classOfSubjects(decoded.subject, wanted.subject);
    const { run, at, kind, subject, path } = decoded;
    for (let row = 0; row < decoded.rows; row++) {
      const kindCode = kind.codes[row] as number;
      const runNow = run.dictionary[run.codes[row] as number] as number;
      const atNow = at.dictionary[at.codes[row] as number] as number;
      if (boundaries.begins(runNow, atNow, classes.isFrame[kindCode] as boolean)) {
        if (current) yield current;
        current = { run: runNow, atMs: atNow, changes: [], rows: [] };
      }
      if (subjects !== undefined && subjects[subject.codes[row] as number] !== 1) continue;
      const factKind = classes.factKind[kindCode];
      if (factKind === undefined) {
        if (classes.isWanted[kindCode]) (current as ScannedRun).rows.push(rowAt(decoded, row));
        continue;
      }
      const pathCode = path.codes[row] as number;
      if (!classes.wantsPath(factKind, pathCode)) continue;
      const id = subject.dictionary[subject.codes[row] as number] as string;
      (current as ScannedRun).changes.push(
        changeOf(factKind, id, path.dictionary[pathCode] as string, factAt(decoded.value, row, values)),
      );
    }
  }
  if (current) yield current;
}

interface Classes {
  isFrame: boolean[];
  factKind: (SubjectKind | undefined)[];
  isWanted: boolean[];
  wantsPath(kind: SubjectKind, pathCode: number): boolean;
}

function classesOf({ kind, path }: DecodedGroup, wanted: Wanted): Classes {
  const wantedPaths = new Map(
    SUBJECT_KINDS.map((one) => [one, Uint8Array.from(path.dictionary, (name) => (wanted.fact(one, name) ? 1 : 0))]),
  );
  return {
    isFrame: kind.dictionary.map((name) => name === 'run'),
    factKind: kind.dictionary.map((name) =>
      wanted.standingOnly && name.startsWith('aside.') ? undefined : factKindOf(name),
    ),
    isWanted: kind.dictionary.map((name) => factKindOf(name) === undefined && wanted.row(name)),
    wantsPath: (one, code) => (wantedPaths.get(one) as Uint8Array)[code] === 1,
  };
}

function classOfSubjects({ dictionary }: CodedColumn<string>, only: string | undefined): Uint8Array | undefined {
  return only === undefined ? undefined : Uint8Array.from(dictionary, (subject) => (subject === only ? 1 : 0));
}

export function changeOf(
  kind: SubjectKind,
  subject: string,
  path: string,
  value: Fact | typeof SECRET | undefined,
): FactChange {
  return value === SECRET ? { kind, subject, path, value: undefined, secret: true } : { kind, subject, path, value };
}

export function readValue(text: string): Fact | typeof SECRET {
  return text === SECRET_TEXT ? SECRET : factOf(text);
}

/** It is there, and was not recorded. */
const SECRET = Symbol('secret');

/** Of a value that repeats, one fact: facts are never changed in place. */
function factAt(
  { codes, repeats, text }: CodedTexts,
  row: number,
  known: Map<number, Fact | typeof SECRET>,
): Fact | typeof SECRET | undefined {
  const code = codes[row] as number;
  if (code === -1) return undefined;
  if (!repeats) return readValue(text(code));
  let fact = known.get(code);
  if (fact === undefined) {
    fact = readValue(text(code));
    known.set(code, fact);
  }
  return fact;
}
