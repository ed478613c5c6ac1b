// evaluate: reads the facts of one record into its frame's slots, typed and fresh, and counts their values for the trust gate.
// In: a record. Out: slots. INVARIANT: only own properties are read. The hot path checks an object's prototype once instead.

import type { Fact, Facts } from '../../domain/facts.ts';
import { epochMsOf } from '../../domain/timestamp.ts';
import type { ValuePart } from '../../domain/verdict.ts';
import type { Slot } from '../compile/compiler.ts';
import { addAll } from '../compile/rule-set-bits.ts';
import { RememberedVerdicts, type SlotVerdicts } from '../compile/slot-verdicts.ts';
import type { Freshness } from '../language/expression.ts';
import type { Frame } from '../language/frame.ts';
import { FUTURE_MAX_MS } from '../language/frame.ts';
import { isOfType, isPlain, ownAt, ownPart } from '../language/typed-value.ts';
import { hasFewValues, ValueCounts } from './value-counts.ts';

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
  key: string;
  slot: number;
  counts: ValueCounts;
}

interface NumberLeaf extends HotLeaf {
  verdicts: RememberedVerdicts;
}

interface Parent {
  path: string[];
  /** The key that leads here (empty: the record itself); undefined for a longer path or a key that objects inherit. */
  only: string | undefined;
  /** No key of a leaf is inherited by every object. */
  plain: boolean;
  leaves: Leaf[];
  /** The same leaves by how they are read. Each has its own loop, which sees few types of values and is optimized for them. */
  repeating: HotLeaf[];
  numbers: NumberLeaf[];
  lists: HotLeaf[];
  others: Leaf[];
}

export class FactReader {
  private readonly parents: Parent[] = [];
  private readonly timestamps: Freshness[] = [];
  private readonly isFresh: boolean[] = [];

  /** `verdicts`: what each slot's fact decides by itself. */
  constructor(
    slots: readonly Slot[],
    verdicts: readonly (SlotVerdicts | undefined)[],
    /** How many values of a fact are counted one by one; undefined: as many as a baseline keeps. */
    private readonly valuesMax: number | undefined = undefined,
  ) {
    for (const slot of slots) {
      const { fact } = slot;
      if (fact.kind !== 'path' || fact.path[0]?.startsWith('$')) continue;
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
    for (const parent of this.parents) for (const leaf of parent.leaves) sortIn(leaf, parent);
  }

  /** Fills the frame's slots, and rules out what single facts rule out. */
  read(record: Facts, frame: Frame): void {
    for (let word = 0; word < frame.ruledOut.length; word++) frame.ruledOut[word] = 0;
    frame.doubts = 0;
    for (let i = 0; i < this.timestamps.length; i++)
      this.isFresh[i] = isYoung(record, this.timestamps[i] as Freshness, frame.nowMs);
    frame.isPlain = isPlain(record);
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

  /** The hot path. A value whose verdicts are remembered has the right type; `place` handles all others. */
  private readPlain(holder: Facts, { repeating, numbers, lists, others }: Parent, frame: Frame): void {
    const { slots, ruledOut } = frame;
    for (let i = 0; i < repeating.length; i++) {
      const { key, slot, counts, leaf } = repeating[i] as HotLeaf;
      const value = holder[key];
      const tally = counts.known(value);
      if (tally === undefined) this.place(leaf, value, frame);
      else {
        tally.count++;
        slots[slot] = value;
        if (tally.ruledOut !== undefined) addAll(ruledOut, tally.ruledOut);
      }
    }
    for (let i = 0; i < numbers.length; i++) {
      const { key, slot, counts, verdicts, leaf } = numbers[i] as NumberLeaf;
      const value = holder[key];
      const bits = isWhole(value) ? verdicts.remembered(value) : undefined;
      if (bits === undefined) this.place(leaf, value, frame);
      else {
        counts.addNumber(value as number);
        slots[slot] = value;
        addAll(ruledOut, bits);
      }
    }
    for (let i = 0; i < lists.length; i++) {
      const { key, slot, counts, leaf } = lists[i] as HotLeaf;
      const value = holder[key];
      if (Array.isArray(value)) {
        counts.addList(value);
        slots[slot] = value;
      } else this.place(leaf, value, frame);
    }
    for (let i = 0; i < others.length; i++) {
      const leaf = others[i] as Leaf;
      this.place(leaf, holder[leaf.key], frame);
    }
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
    const tally = leaf.counts.add(value);
    if (tally && only.verdicts) tally.ruledOut = only.verdicts.bitsOf(value, frame);
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
      const ways = { repeating: [], numbers: [], lists: [], others: [] };
      parent = { path: parentPath, only: onlyKey(parentPath), plain: true, leaves: [], ...ways };
      this.parents.push(parent);
    }
    let leaf = parent.leaves.find((each) => each.key === key);
    if (!leaf) {
      leaf = {
        key,
        variants: [],
        only: undefined,
        fewValues: hasFewValues(slot.fact.type),
        counts: new ValueCounts(this.valuesMax),
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

function onlyKey(path: readonly string[]): string | undefined {
  const key = path[0] ?? '';
  return path.length > 1 || key in Object.prototype ? undefined : key;
}

/** Chooses the way that a leaf is read. */
function sortIn(leaf: Leaf, parent: Parent): void {
  const { key, only, counts } = leaf;
  if (!only) {
    parent.others.push(leaf);
    return;
  }
  const { slot, verdicts } = only;
  const { kind } = slot.fact.type;
  const hot: HotLeaf = { leaf, key, slot: slot.index, counts };
  if (leaf.fewValues) parent.repeating.push(hot);
  else if ((kind === 'number' || kind === 'time') && verdicts?.isByBounds) parent.numbers.push({ ...hot, verdicts });
  else if (kind === 'list' && !verdicts) parent.lists.push(hot);
  else parent.others.push(leaf);
}

/** A number that fits every field of numbers or times. */
function isWhole(value: Fact | undefined): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0;
}

/** Whether a timestamp is set, not too old and not in the far future. */
export function isYoung(record: Facts, { path, ms }: Freshness, nowMs: number): boolean {
  const value = ownAt(record, path);
  if (typeof value !== 'number' && typeof value !== 'bigint') return false;
  const timeMs = epochMsOf(value);
  return timeMs !== undefined && nowMs - timeMs <= ms && timeMs - nowMs <= FUTURE_MAX_MS;
}
