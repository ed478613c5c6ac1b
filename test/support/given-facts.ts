// support: a source of facts from elsewhere, by serial number, as rules and an engine of a test have it: its rows are what the test says.
import type { Facts } from '../../src/domain/facts.ts';
import type { GivenFacts, GivenReading, GivenSource } from '../../src/domain/given-facts.ts';
import { type GivenTables, packRows } from '../../src/domain/given-table.ts';
import { nameKey } from '../../src/domain/identity.ts';
import { ACTIONS } from '../../src/engine/act/actions.ts';
import { GivenGate } from '../../src/engine/run/given.ts';
import type { LoadedRule } from '../../src/rules/language/loaded-rule.ts';
import { parseRule } from '../../src/rules/load/read-rule.ts';

const HOUR_MS = 3_600_000;

export const INVENTORY: GivenSource = {
  name: 'inventory',
  key: { is: 'serial_number', from: 'serial' },
  fields: [
    { name: 'status', type: 'text', from: 'status' },
    { name: 'seen', type: 'time', from: 'seen', unit: 'ms' },
  ],
  freshMs: 24 * HOUR_MS,
  everyMs: HOUR_MS,
  rowsMax: 1_000_000,
  origin: { by: 'file', path: 'inventory.csv', format: 'csv', list: undefined },
};

const RETURNED = { '==': [{ var: '$facts.inventory.status' }, 'returned'] };

/** As a file of rules has it. */
export const INVENTORY_FILE = `sources:
  inventory:
    key: { serial_number: serial }
    fields: { status: text, seen: { type: time, unit: ms } }
    fresh: 1d
    every: 1h
    file: { path: inventory.csv }
`;

/** A rule that may read it, in a set that names it. */
export function inventoryRule(id: string, when: unknown = RETURNED, more: object = {}, source = INVENTORY): LoadedRule {
  const text = JSON.stringify({ id, subject: 'device', when, then: 'notify', mode: 'enforce', ...more });
  const parsed = parseRule(text, `${id}.json`, { traits: ACTIONS, sources: [source] });
  if ('problems' in parsed) throw new Error(JSON.stringify(parsed.problems));
  return {
    ...parsed.rule,
    guards: {
      ask: [],
      lastDevice: false,
      perDay: undefined,
      sources: [source],
      files: [{ file: 'sources.yaml', text: INVENTORY_FILE }],
    },
  };
}

/** What the frame of a recorded run has of it. */
export function inventoryGiven(atMs: number, rows: readonly (readonly [serial: string, row: Facts])[]): GivenTables {
  const packed = packRows(rows.map(([serial, row]) => [nameKey(serial), row]));
  const times = { atMs, readAt: atMs, freshUntilMs: atMs + INVENTORY.freshMs };
  const state = { source: 'inventory', key: 'serial_number', hash: JSON.stringify(rows), doubt: undefined } as const;
  return new Map([['inventory', { ...state, ...times, rows: packed }]]);
}

export class GivenInventory implements GivenFacts {
  private reading: GivenReading = { source: INVENTORY, table: undefined, triedAt: undefined, fault: undefined };
  readonly gate = new GivenGate(this);

  /** `repeated`: serial numbers of several rows. */
  read(rows: Iterable<readonly [serial: string, row: Facts]>, atMs: number, repeated: readonly string[] = []): void {
    const folded = new Map([...rows].map(([serial, row]) => [nameKey(serial), row]));
    for (const serial of repeated) folded.delete(nameKey(serial));
    const hash = JSON.stringify([[...folded].sort(), repeated]);
    const found = { rows: folded.size, keyless: 0, wrong: {} };
    const table = { source: 'inventory', meaning: 'm', hash, atMs, readAt: atMs, rows: folded, found, problems: [] };
    this.reading = { ...this.reading, table: { ...table, repeated: new Set(repeated.map(nameKey)) }, triedAt: atMs };
  }

  async readings() {
    return new Map([['inventory', this.reading]]);
  }
}
