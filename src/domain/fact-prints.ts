// domain: a record as facts by path, and fingerprints of them. In: a record, hostile. Out: each fact with its path and 64 bits that stand for
// both; 53 bits of a whole record, which are the sum of its facts and so do not depend on their order. It runs for every record of a fleet.
import type { Fact, Facts } from './facts.ts';
import {
  begin,
  finish,
  mix,
  mixKind,
  mixNumbers,
  mixPrint,
  printOf,
  printOfText,
  resultA,
  resultB,
  SEED_A,
  SEED_B,
} from './print-bits.ts';

/** An object with more members, or deeper, is one value. */
const MEMBERS_MAX = 200;
const DEPTH_MAX = 8;
/** Below this depth a value counts as any other: no record nests this deep. */
const VALUE_DEPTH_MAX = 200;

/** A path of facts, as rules write it. */
export class FactPath {
  private readonly children = new Map<string, FactPath>();
  /** The members of the last record, by position: the next one most likely has the same. */
  private readonly lastKeys: string[] = [];
  private readonly lastPaths: FactPath[] = [];

  constructor(
    private readonly all: FactPath[],
    readonly no: number,
    readonly text: string,
    /** False: its name has a dot or is empty, so that no path can name it below another one. */
    readonly isPlain: boolean,
    readonly depth: number,
    readonly seedA: number,
    readonly seedB: number,
  ) {}

  member(name: string, at: number): FactPath {
    if (this.lastKeys[at] === name) return this.lastPaths[at] as FactPath;
    const known = this.children.get(name) ?? this.make(name);
    this.lastKeys[at] = name;
    this.lastPaths[at] = known;
    return known;
  }

  private make(name: string): FactPath {
    const isPlain = isPlainName(name);
    const own = isPlain ? name : JSON.stringify(name);
    const text = this.depth === 0 ? own : `${this.text}.${own}`;
    begin();
    mix(text);
    finish();
    const made = new FactPath(this.all, this.all.length, text, isPlain, this.depth + 1, resultA, resultB);
    this.all.push(made);
    this.children.set(name, made);
    return made;
  }
}

export type TakeFact = (path: FactPath, a: number, b: number, value: Fact) => void;

/** The paths that records of one kind have. */
export class FactPaths {
  readonly all: FactPath[] = [];
  private readonly root = new FactPath(this.all, -1, '', true, 0, SEED_A, SEED_B);
  private sumA = 0;
  private sumB = 0;

  /** 53 bits, equal for equal facts. */
  print(record: Facts): number {
    return this.walk(record, undefined);
  }

  /** The same, and each fact: two times 32 bits, its value. */
  walk(record: Facts, take: TakeFact | undefined): number {
    this.sumA = 0;
    this.sumB = 0;
    const names = Object.keys(record);
    for (let at = 0; at < names.length; at += 1) {
      const name = names[at] as string;
      const path = this.root.member(name, at);
      if (path.isPlain) this.fact(path, record[name] as Fact, take);
      else this.value(path, record[name] as Fact, take);
    }
    return printOf(this.sumA, this.sumB);
  }

  /** As `walk` gives it. Undefined: a value that nobody knows, unlike any other. */
  factPrint(text: string, value: Fact | undefined): { no: number; print: [number, number] } {
    const { no, seedA, seedB } = this.of(text);
    if (value === undefined) return { no, print: [0, 0] };
    begin(seedA, seedB);
    mixValue(value, 0);
    finish();
    return { no, print: [resultA, resultB] };
  }

  /** The path of this text, which `walk` has made, or will make. */
  of(text: string): FactPath {
    let path = this.root;
    for (const name of namesOf(text)) path = path.member(name, 0);
    return path;
  }

  private fact(path: FactPath, value: Fact, take: TakeFact | undefined): void {
    if (typeof value !== 'object' || value === null || Array.isArray(value) || path.depth >= DEPTH_MAX) {
      this.value(path, value, take);
      return;
    }
    const names = Object.keys(value);
    const isWhole =
      names.length === 0 || names.length > MEMBERS_MAX || !names.every((name, at) => path.member(name, at).isPlain);
    if (isWhole) {
      this.value(path, value, take);
      return;
    }
    for (let at = 0; at < names.length; at += 1) {
      const name = names[at] as string;
      this.fact(path.member(name, at), value[name] as Fact, take);
    }
  }

  private value(path: FactPath, value: Fact, take: TakeFact | undefined): void {
    begin(path.seedA, path.seedB);
    mixValue(value, 0);
    finish();
    this.sumA = (this.sumA + resultA) | 0;
    this.sumB = (this.sumB + resultB) | 0;
    take?.(path, resultA, resultB, value);
  }
}

/** Whether a name can be a step of a path. A quote begins the text of one that cannot. */
function isPlainName(name: string): boolean {
  return name !== '' && !name.includes('.') && name.charCodeAt(0) !== QUOTE;
}

const QUOTE = 0x22;

/** The names of a path: only the first one can be quoted, and then it is the only one. */
export function namesOf(path: string): string[] {
  return path.charCodeAt(0) === QUOTE ? [JSON.parse(path) as string] : path.split('.');
}

const doubles = new Float64Array(1);
const bigs = new BigInt64Array(1);
const halves = [new Int32Array(doubles.buffer), new Int32Array(bigs.buffer)] as const;
const BIG_MAX = 2n ** 63n;

/** Values of different types are different, also where their texts are equal. */
function mixValue(value: Fact, depth: number): void {
  switch (typeof value) {
    case 'string':
      mixKind(1);
      mix(value);
      return;
    case 'number':
      mixKind(2);
      doubles[0] = value;
      mixNumbers(halves[0][0] as number, halves[0][1] as number);
      return;
    case 'bigint':
      mixKind(3);
      if (value < BIG_MAX && value >= -BIG_MAX) {
        bigs[0] = value;
        mixNumbers(halves[1][0] as number, halves[1][1] as number);
      } else mix(value.toString());
      return;
    case 'boolean':
      mixNumbers(4, value ? 1 : 0);
      return;
    default:
      if (value === null) mixNumbers(5, 0);
      else if (depth < VALUE_DEPTH_MAX) mixMembers(value, depth + 1);
  }
}

function mixMembers(value: Fact[] | Facts, depth: number): void {
  if (Array.isArray(value)) {
    mixNumbers(6, value.length);
    for (const item of value) mixValue(item, depth);
    return;
  }
  const names = Object.keys(value);
  mixNumbers(7, names.length);
  const known = memberNames[depth] ?? new LastNames();
  memberNames[depth] = known;
  for (let at = 0; at < names.length; at += 1) {
    const name = names[at] as string;
    mixPrint(known.print(name, at));
    mixValue(value[name] as Fact, depth);
  }
}

/** Names of members inside of lists: those of the next item are most likely those of the last one. */
class LastNames {
  private readonly names: string[] = [];
  private readonly prints: number[] = [];

  print(name: string, at: number): number {
    if (this.names[at] === name) return this.prints[at] as number;
    const print = printOfText(name);
    // A hostile object may have any number of members.
    if (at >= MEMBERS_MAX) return print;
    this.names[at] = name;
    this.prints[at] = print;
    return print;
  }
}

const memberNames: LastNames[] = [];
