// evaluate: the facts of a record type that rules read, by the object that holds them, and how each is read. In: slots. Out: parents with
// their leaves. Each kind of leaf has its own loop in the reader, which then sees few types of values and is optimized for them.
import type { Fact } from '../../domain/facts.ts';
import type { Slot } from '../compile/compiler.ts';
import type { RememberedVerdicts } from '../compile/slot-verdicts.ts';
import { type NamedFields, NO_FIELDS, namedFieldsFor } from './named-fields.ts';
import type { ValueCounts } from './value-counts.ts';

/** One fact as one group of rules reads it: with its default and its freshness. */
export interface Variant {
  slot: Slot;
  verdicts: RememberedVerdicts | undefined;
  fallback: Fact | undefined;
  /** Its freshness timestamps: indices into the reader's list. */
  fresh: number[];
}

export interface Leaf {
  key: string;
  variants: Variant[];
  /** Set when there is only one variant, without default and freshness. */
  only: Variant | undefined;
  fewValues: boolean;
  counts: ValueCounts;
}

/** A leaf that has one variant, as the hot path reads it. */
export interface HotLeaf {
  leaf: Leaf;
  /** Where its value is among those of the parent. */
  at: number;
  slot: number;
  counts: ValueCounts;
}

export interface NumberLeaf extends HotLeaf {
  bounds: readonly number[];
  /** By how many bounds a number is above: the code of that stretch. -1: not known yet. */
  stretchCodes: Int32Array;
}

export interface Parent {
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

export function newParent(path: string[]): Parent {
  const ways = { texts: [], scores: [], numbers: [], lists: [], others: [] };
  return { path, only: onlyKey(path), plain: true, leaves: [], ...ways, named: NO_FIELDS, keys: [], values: [] };
}

/** Chooses the way that each leaf is read. */
export function sortLeaves(parent: Parent): void {
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
export function stretchOf(value: number, bounds: readonly number[]): number {
  let stretch = 0;
  for (; stretch < bounds.length; stretch++) {
    const bound = bounds[stretch] as number;
    if (value < bound) break;
    if (value === bound) return -1;
  }
  return stretch;
}

export function codeOfNumber(value: number, { bounds, stretchCodes }: NumberLeaf): number {
  const stretch = stretchOf(value, bounds);
  return stretch < 0 ? -1 : (stretchCodes[stretch] as number);
}

/** A number that fits every field of numbers or times. */
export function isWhole(value: Fact | undefined): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0;
}
