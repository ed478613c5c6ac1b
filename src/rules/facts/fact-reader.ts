// rules: reads the facts of one record into its frame's slots, typed and fresh, and counts their values for the trust gate.
// In: a record. Out: slots. INVARIANT: only own properties are read. The hot path checks an object's prototype once instead.

import { epochMsOf } from '../../base/time.ts';
import type { Fact, Facts } from '../../domain/facts.ts';
import type { ValuePart } from '../../domain/verdict.ts';
import type { Slot } from '../compile/expressions.ts';
import { RememberedVerdicts, type SlotVerdicts } from '../compile/program.ts';
import {
  type Frame,
  type Freshness,
  FUTURE_MAX_MS,
  isOfType,
  isPlain,
  isReadLate,
  ownAt,
  ownPart,
} from '../language/expression.ts';
import { CodeTable, hasFewValues, isWholeScore, ValueCounts } from './value-counts.ts';

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
    for (let i = 0; i < this.timestamps.length; i++)
      this.isFresh[i] = isYoung(record, this.timestamps[i] as Freshness, frame.nowMs);
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

/** Whether a timestamp is set, not too old and not in the far future. */
export function isYoung(record: Facts, { path, ms }: Freshness, nowMs: number): boolean {
  const value = ownAt(record, path);
  if (typeof value !== 'number' && typeof value !== 'bigint') return false;
  const timeMs = epochMsOf(value);
  return timeMs !== undefined && nowMs - timeMs <= ms && timeMs - nowMs <= FUTURE_MAX_MS;
}
