// domain: a record as facts by path, and keyed fingerprints of them. In: a record, hostile. Out: each fact with its path and 128 bits that stand for
// both; 128 bits of a whole record, which are the sum of its facts and so do not depend on their order. It runs for every record of a fleet.
// The four numbers are summed each by itself, modulo 2^32. A record has a path once: so the sums of two records that differ in any fact differ by at
// least one fingerprint that is in one of them alone. To whoever lacks the key that is a random number of 128 bits, and is 0 once in 2^128.

import { longer } from '../base/growing.ts';
import { begin, mixText, mixUnits, mixWord, type PrintKey, PrintSeeds, sealed } from '../base/print-bits.ts';
import type { Fact, Facts } from './facts.ts';

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
  /** Values that it had before, and their numbers; undefined: too many for that. */
  known: Map<Fact, number> | undefined = new Map();

  constructor(
    private readonly all: FactPath[],
    readonly no: number,
    readonly text: string,
    /** False: its name has a dot or is empty, so that no path can name it below another one. */
    readonly isPlain: boolean,
    readonly depth: number,
    readonly seed: Int32Array,
    private readonly rootSeed: Int32Array = seed,
  ) {}

  member(name: string, at: number): FactPath {
    if (this.lastKeys[at] === name) return this.lastPaths[at] as FactPath;
    const known = this.children.get(name) ?? this.make(name);
    this.lastKeys[at] = name;
    this.lastPaths[at] = known;
    return known;
  }

  /** Those below it: of which path, by number, each is a member, and its name there. */
  *below(): Generator<[no: number, of: number, name: string]> {
    for (const [name, path] of this.children) {
      yield [path.no, this.no, name];
      yield* path.below();
    }
  }

  private make(name: string): FactPath {
    const isPlain = isPlainName(name);
    const own = isPlain ? name : JSON.stringify(name);
    const text = this.depth === 0 ? own : `${this.text}.${own}`;
    begin(this.rootSeed);
    mixWord(text.length);
    mixUnits(text);
    const made = new FactPath(this.all, this.all.length, text, isPlain, this.depth + 1, sealed(), this.rootSeed);
    this.all.push(made);
    this.children.set(name, made);
    return made;
  }
}

/** `print`: four numbers, which hold until the next fact. `known`: the number of this fact if it came before, and comes often; otherwise -1. */
export type TakeFact = (path: FactPath, print: Int32Array, value: Fact, known: number) => void;

/** A path with more values than these has other ones most of the time. */
const KNOWN_MAX = 256;
const KNOWN_LENGTH_MAX = 64;
/** Of all paths together: records may have as many as they like. */
const ALL_KNOWN_MAX = 32_768;
const UNKNOWN = -1;

/** The paths that records of one kind have. */
export class FactPaths {
  readonly all: FactPath[] = [];
  private readonly seeds: PrintSeeds;
  private readonly root: FactPath;
  private readonly factPrint = new Int32Array(4);
  private readonly sum = new Int32Array(4);
  /** Of known facts, by number: a text that repeats is looked up faster than it is mixed. */
  private knownPrints = new Int32Array(4 * KNOWN_MAX);
  private knownCount = 0;

  constructor(readonly key: PrintKey) {
    this.seeds = new PrintSeeds(key);
    this.root = new FactPath(this.all, -1, '', true, 0, this.seeds.of('facts'));
  }

  /** In the order of their numbers: of which path each is a member, and its name there. */
  get members(): [of: number, name: string][] {
    return [...this.root.below()].sort(([a], [b]) => a - b).map(([, of, name]) => [of, name]);
  }

  static ofMembers(key: PrintKey, members: readonly (readonly [number, string])[]): FactPaths {
    const made = new FactPaths(key);
    for (const [of, name] of members) (made.all[of] ?? made.root).member(name, 0);
    return made;
  }

  /** Four numbers into a list, equal for equal facts. */
  print(record: Facts, out: Int32Array, at: number): void {
    this.sum.fill(0);
    this.walk(record, this.add);
    out.set(this.sum, at);
  }

  walk(record: Facts, take: TakeFact): void {
    const names = Object.keys(record);
    for (let at = 0; at < names.length; at += 1) {
      const name = names[at] as string;
      const path = this.root.member(name, at);
      if (path.isPlain) this.fact(path, record[name] as Fact, take);
      else this.value(path, record[name] as Fact, take);
    }
  }

  /** As `walk` gives it; it holds until the next one. Undefined: a value that nobody knows, unlike any other. */
  printOf(text: string, value: Fact | undefined): { no: number; print: Int32Array } {
    const { no, seed } = this.of(text);
    const print = this.factPrint.fill(0);
    if (value !== undefined) {
      begin(seed);
      mixValue(value, 0);
      this.seeds.finish(print, 0);
    }
    return { no, print };
  }

  /** The path of this text, which `walk` has made, or will make. */
  of(text: string): FactPath {
    let path = this.root;
    for (const name of namesOf(text)) path = path.member(name, 0);
    return path;
  }

  private fact(path: FactPath, value: Fact, take: TakeFact): void {
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

  private value(path: FactPath, value: Fact, take: TakeFact): void {
    const { factPrint } = this;
    const mayRepeat = path.known !== undefined && isShort(value);
    const known = mayRepeat ? path.known?.get(value) : undefined;
    if (known !== undefined) {
      const at = 4 * known;
      for (let word = 0; word < 4; word += 1) factPrint[word] = this.knownPrints[at + word] as number;
      take(path, factPrint, value, known);
      return;
    }
    begin(path.seed);
    mixValue(value, 0);
    this.seeds.finish(factPrint, 0);
    take(path, factPrint, value, mayRepeat ? this.remember(path, value) : UNKNOWN);
  }

  private remember(path: FactPath, value: Fact): number {
    if (path.known?.size === KNOWN_MAX || this.knownCount === ALL_KNOWN_MAX) path.known = undefined;
    if (!path.known) return UNKNOWN;
    const added = this.knownCount++;
    if (4 * added === this.knownPrints.length) this.knownPrints = longer(this.knownPrints, 8 * added);
    this.knownPrints.set(this.factPrint, 4 * added);
    path.known.set(value, added);
    return added;
  }

  private readonly add: TakeFact = (_path, print) => addPrint(this.sum, 0, print, 0);
}

/** Numbers are not among them: 0 and -0 are two values. */
function isShort(value: Fact): boolean {
  if (typeof value === 'string') return value.length <= KNOWN_LENGTH_MAX;
  return typeof value === 'boolean' || value === null;
}

/** Fact by fact: see above. */
export function addPrint(sum: Int32Array, at: number, print: Int32Array, printAt: number): void {
  for (let word = 0; word < 4; word += 1)
    sum[at + word] = (sum[at + word] as number) + (print[printAt + word] as number);
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

/** What kind of value follows, in three bits, and how long it is or which of two. */
const [BIG_TEXT, TEXT, NUMBER, BIG, FLAG, NOTHING, LIST, OBJECT] = [0, 1, 2, 3, 4, 5, 6, 7];
const TOO_DEEP = NOTHING | 8;

/** Values of different types are different, also where their texts are equal. */
function mixValue(value: Fact, depth: number): void {
  switch (typeof value) {
    case 'string':
      mixText(TEXT, value);
      return;
    case 'number':
      doubles[0] = value;
      mixWord(NUMBER);
      mixWord(halves[0][0] as number);
      mixWord(halves[0][1] as number);
      return;
    case 'bigint':
      if (value < BIG_MAX && value >= -BIG_MAX) {
        bigs[0] = value;
        mixWord(BIG);
        mixWord(halves[1][0] as number);
        mixWord(halves[1][1] as number);
      } else mixText(BIG_TEXT, value.toString());
      return;
    case 'boolean':
      mixWord(value ? FLAG | 8 : FLAG);
      return;
    default:
      if (value === null) mixWord(NOTHING);
      else if (depth < VALUE_DEPTH_MAX) mixMembers(value, depth + 1);
      else mixWord(TOO_DEEP);
  }
}

function mixMembers(value: Fact[] | Facts, depth: number): void {
  if (Array.isArray(value)) {
    mixWord(LIST | (value.length << 3));
    for (const item of value) mixValue(item, depth);
    return;
  }
  const names = Object.keys(value);
  mixWord(OBJECT | (names.length << 3));
  for (const name of names) {
    mixText(TEXT, name);
    mixValue(value[name] as Fact, depth);
  }
}
