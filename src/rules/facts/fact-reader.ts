// rules: reads the facts of one record into its frame's slots, typed and fresh, and counts their values for the trust gate.
// In: a record. Out: slots. INVARIANT: only own properties are read. The hot path checks an object's prototype once instead.
import type { Fact, Facts } from '../../domain/facts.ts';
import type { Lists } from '../../domain/lists.ts';
import { redacted } from '../../domain/secrets.ts';
import { OTHER_VALUES } from '../../domain/snapshot.ts';
import type { ValuePart } from '../../domain/verdict.ts';
import { type Slot, underLists } from '../compile/expressions.ts';
import { RememberedVerdicts, type RuleBits, type SlotVerdicts, wordsFor } from '../compile/program.ts';
import {
  type Frame,
  type Freshness,
  factsIn,
  isOfType,
  isPlain,
  isReadLate,
  isYoung,
  ownAt,
  ownPart,
  type PathFact,
} from '../language/expression.ts';
import type { LoadedRule } from '../language/loaded-rule.ts';
import type { ValueType } from '../record-types/field-types.ts';

// How often each value of one fact was seen in one pass, for the trust gate. Cheap: it runs for every record.
// Values as they are up to 64 different ones, the rest as `…other`; times and numbers as `zero` or `set`; absence as `∅`.

// What one pass keeps of each value that it has seen, by a small integer, its code: how often, and the rules that it
// rules out.

class CodeTable {
  /** By code. INVARIANT: replaced when it grows. */
  counts = new Int32Array(64);
  /** `words` of them for each code. INVARIANT: replaced when it grows. */
  ruledOut: RuleBits;
  readonly words: number;
  private used = 0;

  constructor(rules: number) {
    this.words = wordsFor(rules);
    this.ruledOut = new Int32Array(64 * this.words);
  }

  /** A code that stands for nothing yet, and rules out nothing. */
  begin(): number {
    if (this.used === this.counts.length) {
      this.counts = grown(this.counts);
      this.ruledOut = grown(this.ruledOut);
    }
    return this.used++;
  }

  count(code: number): void {
    this.counts[code] = this.countOf(code) + 1;
  }

  countOf(code: number): number {
    return this.counts[code] as number;
  }

  rulesOut(code: number, bits: RuleBits): void {
    this.ruledOut.set(bits, code * this.words);
  }
}

function grown(array: Int32Array): Int32Array<ArrayBuffer> {
  const larger = new Int32Array(array.length * 2);
  larger.set(array);
  return larger;
}

const VALUES_MAX = 64;
/** Beyond this many values of one fact the rest have no code. */
const CODES_MAX = 1_000;
/** A power of two. */
const NEAR = 32;
const ABSENT = '∅';

/** Whether a fact of this type has few values, so that they are counted and remembered as they are. */
const hasFewValues = (type: ValueType): boolean => ['text', 'flag', 'boolean', 'score'].includes(type.kind);

function isWholeScore(value: Fact | undefined): value is number {
  return typeof value === 'number' && value >= 0 && value <= 100 && Number.isInteger(value);
}

class ValueCounts {
  /** By value, in the order in which they came. */
  private readonly codes = new Map<Fact, number>();
  /** The same of whole scores, where looking up is cheaper. -1: not seen. */
  readonly scoreCodes = new Int32Array(101).fill(-1);
  /** A text and its code where its length and a character of it lead: found without hashing the text, which is new with each record. */
  private readonly nearTexts = new Array<string>(NEAR).fill('');
  private readonly nearCodes = new Int32Array(NEAR).fill(-1);
  private other = 0;
  private none = 0;
  private zero = 0;
  private set = 0;

  /** `codesMax`: a part of a pass has a code for each value; which of them are the first is known when the parts are merged. */
  constructor(
    private readonly table: CodeTable,
    private readonly codesMax: number = CODES_MAX,
  ) {}

  addNone(): void {
    this.none++;
  }

  /** The code of a text that was added before, else -1. Does not count it. */
  codeOfText(text: string): number {
    const place = placeOf(text);
    if (this.nearTexts[place] === text) return this.nearCodes[place] as number;
    const code = this.codes.get(text);
    if (code === undefined) return -1;
    this.nearTexts[place] = text;
    this.nearCodes[place] = code;
    return code;
  }

  /** Counts a value unchanged. Returns its code and whether it is new; undefined when there are too many values. */
  add(value: Fact): { code: number; isNew: boolean } | undefined {
    const known = this.codes.get(value);
    const code = known ?? this.begin(value);
    if (code === undefined) {
      this.other++;
      return undefined;
    }
    this.table.count(code);
    return { code, isNew: known === undefined };
  }

  /** Counts a value by whether it is set. */
  addSet(value: Fact): void {
    if (typeof value === 'number') this.addNumber(value);
    else if (Array.isArray(value)) this.addList(value);
    else if (value === 0n) this.zero++;
    else this.set++;
  }

  addNumber(value: number): void {
    if (value === 0) this.zero++;
    else this.set++;
  }

  addList(value: readonly Fact[]): void {
    if (value.length === 0) this.zero++;
    else this.set++;
  }

  private begin(value: Fact): number | undefined {
    if (this.codes.size >= this.codesMax) return undefined;
    const code = this.table.begin();
    this.codes.set(value, code);
    if (isWholeScore(value)) this.scoreCodes[value] = code;
    return code;
  }

  /** All values, in the order in which they came. */
  part(): ValuePart {
    const { other, none, zero, set } = this;
    const counts = [...this.codes.values()].map((code) => this.table.countOf(code));
    return { values: [...this.codes.keys()], counts, other, none, zero, set };
  }

  /** `name`: of the fact. Secrets are redacted. */
  result(name: string): Record<string, number> {
    return countsOf(name, this.part());
  }
}

/** What a baseline keeps of the counts of one fact. */
function countsOf(name: string, { values, counts, other, none, zero, set }: ValuePart): Record<string, number> {
  const result: Record<string, number> = Object.create(null);
  for (const [at, value] of values.slice(0, VALUES_MAX).entries()) {
    const key = String(redacted(value, name));
    result[key] = (result[key] ?? 0) + (counts[at] as number);
  }
  const rest = counts.slice(VALUES_MAX).reduce((sum, count) => sum + count, other);
  if (rest > 0) result[OTHER_VALUES] = rest;
  if (zero > 0) result.zero = zero;
  if (set > 0) result.set = set;
  if (none > 0) result[ABSENT] = none;
  return result;
}

function placeOf(text: string): number {
  const { length } = text;
  return length === 0 ? 0 : (length * 5 + text.charCodeAt(length >> 1)) & (NEAR - 1);
}

// How many records have each value of one fact, kept while records come, change and go: replays count a fleet once, and
// then what changes of it. In: values. Out: the counts that one pass over all records gives (`ValueCounts`).
// INVARIANT: it counts what `FactReader` counts.

const [NONE, ZERO, SET] = [0, 1, 2];

export class ValueTally {
  /** Of values that are counted as they are, in the order in which they came. */
  private readonly codes = new Map<Fact, number>();
  private readonly counts = [0, 0, 0];

  constructor(
    readonly path: readonly string[],
    private readonly type: PathFact['type'],
  ) {}

  /** Returns its code, by which it is taken out again. */
  add(value: Fact | undefined): number {
    const code = this.codeOf(value);
    this.counts[code] = (this.counts[code] ?? 0) + 1;
    return code;
  }

  remove(code: number): void {
    this.counts[code] = (this.counts[code] as number) - 1;
  }

  result(): Record<string, number> {
    const { counts } = this;
    const present = [...this.codes].filter(([, code]) => (counts[code] as number) > 0);
    const [none = 0, zero = 0, set = 0] = counts;
    const listed = {
      values: present.map(([value]) => value),
      counts: present.map(([, code]) => counts[code] as number),
    };
    return countsOf(this.path.join('.'), { ...listed, other: 0, none, zero, set });
  }

  private codeOf(value: Fact | undefined): number {
    if (value === undefined || value === null || !isOfType(value, this.type)) return NONE;
    if (!hasFewValues(this.type)) return isZero(value) ? ZERO : SET;
    const known = this.codes.get(value);
    if (known !== undefined) return known;
    this.codes.set(value, this.counts.length);
    return this.counts.length;
  }
}

function isZero(value: Fact): boolean {
  return value === 0 || value === 0n || (Array.isArray(value) && value.length === 0);
}

/** One for each fact that a pass over the records of these rules' subjects counts. `rules`: of one kind of subject. */
export function valueTallies(rules: readonly LoadedRule[], lists: Lists): ValueTally[] {
  const found = new Map<string, ValueTally>();
  for (const fact of rules.flatMap((rule) => factsIn(underLists(rule, lists).condition))) {
    if (fact.kind !== 'path' || isReadLate(fact)) continue;
    const key = JSON.stringify(fact.path);
    if (!found.has(key)) found.set(key, new ValueTally(fact.path, fact.type));
  }
  return [...found.values()];
}

export class ValueMerge {
  private readonly byValue = new Map<Fact, number>();
  private readonly rest = { other: 0, none: 0, zero: 0, set: 0 };

  add({ values, counts, ...part }: ValuePart): void {
    for (const [at, value] of values.entries()) {
      const count = counts[at] as number;
      const known = this.byValue.get(value);
      if (known !== undefined || this.byValue.size < VALUES_MAX) this.byValue.set(value, (known ?? 0) + count);
      else this.rest.other += count;
    }
    for (const what of ['other', 'none', 'zero', 'set'] as const) this.rest[what] += part[what];
  }

  /** `name`: of the fact. */
  result(name: string): Record<string, number> {
    return countsOf(name, { values: [...this.byValue.keys()], counts: [...this.byValue.values()], ...this.rest });
  }
}

// Reads the fields that most rules read by names that stand in the code.

interface NamedFields {
  keys: readonly string[];
  /** Writes the value of each key, undefined where there is none. */
  read(holder: Facts, values: (Fact | undefined)[]): void;
}

const DEVICE: NamedFields = {
  keys: ['Ownership', 'Platform', 'Model', 'RegisteredStatus', 'Roles', 'OS', 'AppVersion', 'LastLogin', 'LoginCount'],
  read(holder, values) {
    values[0] = holder.Ownership;
    values[1] = holder.Platform;
    values[2] = holder.Model;
    values[3] = holder.RegisteredStatus;
    values[4] = holder.Roles;
    values[5] = holder.OS;
    values[6] = holder.AppVersion;
    values[7] = holder.LastLogin;
    values[8] = holder.LoginCount;
  },
};

const USER: NamedFields = {
  keys: ['Name', 'Email', 'Groups', 'Roles', 'LastLogin', 'LoginCount'],
  read(holder, values) {
    values[0] = holder.Name;
    values[1] = holder.Email;
    values[2] = holder.Groups;
    values[3] = holder.Roles;
    values[4] = holder.LastLogin;
    values[5] = holder.LoginCount;
  },
};

const MDM_DATA: NamedFields = {
  keys: ['Timestamp', 'Source', 'CompromisedStatus', 'CompliantStatus'],
  read(holder, values) {
    values[0] = holder.Timestamp;
    values[1] = holder.Source;
    values[2] = holder.CompromisedStatus;
    values[3] = holder.CompliantStatus;
  },
};

const TRUST_DATA: NamedFields = {
  keys: ['EntityTrustscore', 'AccessTrustscore', 'OverrideActive', 'Level', 'UpdatedAt', 'Factors'],
  read(holder, values) {
    values[0] = holder.EntityTrustscore;
    values[1] = holder.AccessTrustscore;
    values[2] = holder.OverrideActive;
    values[3] = holder.Level;
    values[4] = holder.UpdatedAt;
    values[5] = holder.Factors;
  },
};

const NO_FIELDS: NamedFields = { keys: [], read() {} };

/** The ones that know most of the keys. */
function namedFieldsFor(keys: readonly string[]): NamedFields {
  const known = (fields: NamedFields): number => keys.filter((key) => fields.keys.includes(key)).length;
  return [DEVICE, USER, MDM_DATA, TRUST_DATA].reduce(
    (best, each) => (known(each) > known(best) ? each : best),
    NO_FIELDS,
  );
}

// The facts of a record type that rules read, by the object that holds them, and how each is read.

/** One fact as one group of rules reads it: with its default and its freshness. */
interface Variant {
  slot: Slot;
  verdicts: RememberedVerdicts | undefined;
  fallback: Fact | undefined;
  /** Its freshness timestamps: indices into the reader's list. */
  fresh: number[];
}

interface Leaf {
  key: string;
  variants: Variant[];
  /** Set when there is only one variant, without default and freshness. */
  only: Variant | undefined;
  fewValues: boolean;
  counts: ValueCounts;
}

/** A leaf that has one variant, as the hot path reads it. */
interface HotLeaf {
  leaf: Leaf;
  /** Where its value is among those of the parent. */
  at: number;
  slot: number;
  counts: ValueCounts;
}

interface NumberLeaf extends HotLeaf {
  bounds: readonly number[];
  /** By how many bounds a number is above: the code of that stretch. -1: not known yet. */
  stretchCodes: Int32Array;
}

interface Parent {
  path: string[];
  /** The key that leads here (empty: the record itself); undefined for a longer path or a key that objects inherit. */
  only: string | undefined;
  /** No key of a leaf is inherited by every object. */
  plain: boolean;
  leaves: Leaf[];
  /** The same leaves by how they are read. Each has its own loop, which sees few types of values and is optimized for them. */
  texts: HotLeaf[];
  scores: HotLeaf[];
  numbers: NumberLeaf[];
  lists: HotLeaf[];
  others: HotLeaf[];
  named: NamedFields;
  /** Keys that are not named, from this position on. */
  keys: string[];
  /** The values of the present record. */
  values: (Fact | undefined)[];
}

function newParent(path: string[]): Parent {
  const ways = { texts: [], scores: [], numbers: [], lists: [], others: [] };
  return { path, only: onlyKey(path), plain: true, leaves: [], ...ways, named: NO_FIELDS, keys: [], values: [] };
}

/** Chooses the way that each leaf is read. */
function sortLeaves(parent: Parent): void {
  parent.named = namedFieldsFor(parent.leaves.map(({ key }) => key));
  for (const leaf of parent.leaves) sortIn(leaf, parent);
}

function onlyKey(path: readonly string[]): string | undefined {
  const key = path[0] ?? '';
  return path.length > 1 || key in Object.prototype ? undefined : key;
}

/** Chooses the way that a leaf is read. */
function sortIn(leaf: Leaf, parent: Parent): void {
  const { key, only, counts } = leaf;
  const named = parent.named.keys.indexOf(key);
  const at = named >= 0 ? named : parent.named.keys.length + parent.keys.push(key) - 1;
  if (!only) {
    parent.others.push({ leaf, at, slot: -1, counts });
    return;
  }
  const { slot, verdicts } = only;
  const { kind } = slot.fact.type;
  const hot: HotLeaf = { leaf, at, slot: slot.index, counts };
  const bounds = kind === 'number' || kind === 'time' ? verdicts?.bounds : undefined;
  if (kind === 'text' || kind === 'flag') parent.texts.push(hot);
  else if (kind === 'score') parent.scores.push(hot);
  else if (bounds) parent.numbers.push({ ...hot, bounds, stretchCodes: new Int32Array(bounds.length + 1).fill(-1) });
  else if (kind === 'list' && !verdicts) parent.lists.push(hot);
  else parent.others.push(hot);
}

/** How many bounds a number is above; -1 when it is a bound's nearest number: then only an exact comparison decides. */
function stretchOf(value: number, bounds: readonly number[]): number {
  let stretch = 0;
  for (; stretch < bounds.length; stretch++) {
    const bound = bounds[stretch] as number;
    if (value < bound) break;
    if (value === bound) return -1;
  }
  return stretch;
}

function codeOfNumber(value: number, { bounds, stretchCodes }: NumberLeaf): number {
  const stretch = stretchOf(value, bounds);
  return stretch < 0 ? -1 : (stretchCodes[stretch] as number);
}

/** A number that fits every field of numbers or times. */
function isWhole(value: Fact | undefined): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0;
}

export class FactReader {
  private readonly parents: Parent[] = [];
  private readonly timestamps: Freshness[] = [];
  private readonly isFresh: boolean[] = [];
  private readonly table: CodeTable;
  /** The codes of the present record's values, each once. */
  private readonly codes: Int32Array;
  private coded = 0;

  /** `verdicts`: what each slot's fact decides by itself. `rules`: how many there are. `codesMax`: as of `ValueCounts`. */
  constructor(
    slots: readonly Slot[],
    verdicts: readonly (SlotVerdicts | undefined)[],
    rules: number,
    private readonly codesMax: number | undefined = undefined,
  ) {
    this.table = new CodeTable(rules);
    this.codes = new Int32Array(slots.length);
    for (const slot of slots) {
      const { fact } = slot;
      if (fact.kind !== 'path' || isReadLate(fact)) continue;
      const leaf = this.leafAt(fact.path, slot);
      const own = verdicts[slot.index];
      const variant: Variant = {
        slot,
        verdicts: own && new RememberedVerdicts(own, hasFewValues(fact.type)),
        fallback: fact.fallback,
        fresh: fact.fresh.map((each) => this.timestampIndex(each)),
      };
      leaf.variants.push(variant);
      const simple = leaf.variants.length === 1 && fact.fresh.length === 0 && fact.fallback === undefined;
      leaf.only = simple ? variant : undefined;
    }
    for (const parent of this.parents) sortLeaves(parent);
  }

  /** Fills the frame's slots, and rules out what single facts rule out. */
  read(record: Facts, frame: Frame): void {
    for (let word = 0; word < frame.ruledOut.length; word++) frame.ruledOut[word] = 0;
    frame.doubts = 0;
    for (let i = 0; i < this.timestamps.length; i++) {
      const { path, ms } = this.timestamps[i] as Freshness;
      this.isFresh[i] = isYoung(ownAt(record, path), ms, frame.nowMs);
    }
    frame.isPlain = isPlain(record);
    this.coded = 0;
    for (let i = 0; i < this.parents.length; i++) {
      const parent = this.parents[i] as Parent;
      const { only } = parent;
      const holder =
        only === undefined
          ? ownAt(record, parent.path)
          : only === ''
            ? record
            : frame.isPlain
              ? record[only]
              : ownPart(record, only);
      if (parent.plain && (only === '' ? frame.isPlain : isPlain(holder)))
        this.readPlain(holder as Facts, parent, frame);
      else for (const leaf of parent.leaves) this.place(leaf, ownPart(holder, leaf.key), frame);
    }
    this.applyCodes(frame);
  }

  /** How often each value was seen, by path. */
  counted(): Record<string, Record<string, number>> {
    return this.byPath((counts, name) => counts.result(name));
  }

  countedParts(): Record<string, ValuePart> {
    return this.byPath((counts) => counts.part());
  }

  private byPath<T>(of: (counts: ValueCounts, name: string) => T): Record<string, T> {
    const all: Record<string, T> = {};
    for (const { path, leaves } of this.parents) {
      for (const leaf of leaves) {
        const name = [...path, leaf.key].join('.');
        all[name] = of(leaf.counts, name);
      }
    }
    return all;
  }

  /** The hot path. A value that has a code has the right type; `place` handles all others. */
  private readPlain(holder: Facts, parent: Parent, frame: Frame): void {
    const { slots } = frame;
    const { codes } = this;
    let { coded } = this;
    const { texts, scores, numbers, lists, others, named, keys, values } = parent;
    named.read(holder, values);
    for (let i = 0; i < keys.length; i++) values[named.keys.length + i] = holder[keys[i] as string];
    for (let i = 0; i < texts.length; i++) {
      const { at, slot, counts, leaf } = texts[i] as HotLeaf;
      const value = values[at];
      const code = typeof value === 'string' ? counts.codeOfText(value) : -1;
      if (code < 0) this.place(leaf, value, frame);
      else {
        slots[slot] = value;
        codes[coded++] = code;
      }
    }
    for (let i = 0; i < scores.length; i++) {
      const { at, slot, counts, leaf } = scores[i] as HotLeaf;
      const value = values[at];
      const code = isWholeScore(value) ? (counts.scoreCodes[value] as number) : -1;
      if (code < 0) this.place(leaf, value, frame);
      else {
        slots[slot] = value;
        codes[coded++] = code;
      }
    }
    for (let i = 0; i < numbers.length; i++) {
      const leaf = numbers[i] as NumberLeaf;
      const value = values[leaf.at];
      const code = isWhole(value) ? codeOfNumber(value, leaf) : -1;
      if (code < 0) this.placeNumber(leaf, value, frame);
      else {
        leaf.counts.addNumber(value as number);
        slots[leaf.slot] = value;
        codes[coded++] = code;
      }
    }
    for (let i = 0; i < lists.length; i++) {
      const { at, slot, counts, leaf } = lists[i] as HotLeaf;
      const value = values[at];
      if (Array.isArray(value)) {
        counts.addList(value);
        slots[slot] = value;
      } else this.place(leaf, value, frame);
    }
    for (let i = 0; i < others.length; i++) {
      const { leaf, at } = others[i] as HotLeaf;
      this.place(leaf, values[at], frame);
    }
    this.coded = coded;
  }

  /** Counts the values that had codes, and rules out what they rule out. */
  private applyCodes(frame: Frame): void {
    const { codes, coded } = this;
    const { counts, ruledOut, words } = this.table;
    for (let i = 0; i < coded; i++) counts[codes[i] as number] = (counts[codes[i] as number] as number) + 1;
    for (let word = 0; word < words; word++) {
      let bits = frame.ruledOut[word] as number;
      for (let i = 0; i < coded; i++) bits |= ruledOut[(codes[i] as number) * words + word] as number;
      frame.ruledOut[word] = bits;
    }
  }

  /** The first number of a stretch gives it its code. */
  private placeNumber(number: NumberLeaf, value: Fact | undefined, frame: Frame): void {
    this.place(number.leaf, value, frame);
    const stretch = isWhole(value) ? stretchOf(value, number.bounds) : -1;
    const { verdicts } = number.leaf.only as Variant;
    if (stretch < 0 || !verdicts || (number.stretchCodes[stretch] as number) >= 0) return;
    const code = this.table.begin();
    this.table.rulesOut(code, verdicts.bitsOf(value as number, frame));
    number.stretchCodes[stretch] = code;
  }

  private place(leaf: Leaf, value: Fact | undefined, frame: Frame): void {
    const { only } = leaf;
    if (!only) {
      this.placeVariants(leaf, value, frame);
      return;
    }
    const { index, fact, reasons } = only.slot;
    if (value === undefined || value === null || !isOfType(value, fact.type)) {
      leaf.counts.addNone();
      frame.doubts++;
      frame.slots[index] = value === undefined ? reasons.missing : value === null ? reasons.isNull : reasons.wrongType;
      return;
    }
    frame.slots[index] = value;
    if (!leaf.fewValues) {
      leaf.counts.addSet(value);
      only.verdicts?.apply(value, frame);
      return;
    }
    const added = leaf.counts.add(value);
    if (added?.isNew && only.verdicts) this.table.rulesOut(added.code, only.verdicts.bitsOf(value, frame));
    only.verdicts?.apply(value, frame);
  }

  private placeVariants(leaf: Leaf, value: Fact | undefined, frame: Frame): void {
    const first = leaf.variants[0]?.slot.fact.type;
    if (value === undefined || value === null || !first || !isOfType(value, first)) leaf.counts.addNone();
    else if (leaf.fewValues) leaf.counts.add(value);
    else leaf.counts.addSet(value);
    for (const { slot, verdicts, fallback, fresh } of leaf.variants) {
      const { index, fact, reasons } = slot;
      const found = value === undefined || value === null ? fallback : value;
      const doubt = fresh.some((timestamp) => !this.isFresh[timestamp])
        ? reasons.stale
        : found === undefined
          ? value === null
            ? reasons.isNull
            : reasons.missing
          : isOfType(found, fact.type)
            ? undefined
            : reasons.wrongType;
      frame.slots[index] = doubt ?? found;
      if (doubt) frame.doubts++;
      else {
        verdicts?.apply(found as Fact, frame);
      }
    }
  }

  private leafAt(path: readonly string[], slot: Slot): Leaf {
    const parentPath = path.slice(0, -1);
    const key = path.at(-1) as string;
    let parent = this.parents.find((each) => each.path.join('\u0000') === parentPath.join('\u0000'));
    if (!parent) {
      parent = newParent(parentPath);
      this.parents.push(parent);
    }
    let leaf = parent.leaves.find((each) => each.key === key);
    if (!leaf) {
      leaf = {
        key,
        variants: [],
        only: undefined,
        fewValues: hasFewValues(slot.fact.type),
        counts: new ValueCounts(this.table, this.codesMax),
      };
      parent.leaves.push(leaf);
      parent.plain &&= !(key in Object.prototype);
    }
    return leaf;
  }

  private timestampIndex(freshness: Freshness): number {
    const known = this.timestamps.findIndex((each) => each.label === freshness.label && each.ms === freshness.ms);
    return known >= 0 ? known : this.timestamps.push(freshness) - 1;
  }
}
