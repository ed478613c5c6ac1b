// store: a group of the decisions in force in a run, for pages: filtered by a text, a part at a time. In: a run, a group, a text. Out: a page.
// It reads a few columns of each decision of the group, and whole rows only of those that are shown.
import type { StoredDecision } from '../domain/decision.ts';
import { nameKey } from '../domain/identity.ts';
import type { DecisionGroupKey, PageQuery } from '../domain/page-reader.ts';
import type { Newest } from '../domain/record-reader.ts';
import type { RunRecord } from '../domain/store.ts';
import type { Db } from './database.ts';
import { decisionsById } from './decision-outlines.ts';
import { inForceIn } from './in-force.ts';
import { storedJson } from './stored-json.ts';

const GROUP = ['rule', 'action', 'decision', 'reason', 'mode'] as const;
const COLUMNS = `id, ${GROUP.join(', ')}, kind, subject, subject_name, target`;
const RANK = "CASE decision WHEN 'act' THEN 0 WHEN 'hold' THEN 1 ELSE 2 END";
const ORDER = `${RANK}, rule, action, reason, mode, target, subject, id`;

interface Light extends DecisionGroupKey {
  id: string;
  kind: string;
  subject: string;
  subject_name: string;
  target: string;
}

/** What readings have shown of a subject, in lower case. */
interface Known {
  serial_key: string | null;
  name_key: string | null;
  owners: string[];
}

type KnownBy = (row: Light) => Known | undefined;

export async function decisionsInGroup(
  db: Db,
  run: RunRecord,
  group: Partial<DecisionGroupKey>,
  { text, after, limit }: PageQuery,
): Promise<Newest<StoredDecision>> {
  const all = lightRows(db, run, group);
  const found = text === undefined ? all : naming(all, knownOf(db, all), text);
  const from = after === undefined ? 0 : found.findIndex(({ id }) => id === after) + 1;
  const isUnknown = after !== undefined && from === 0;
  return { rows: await wholeRows(db, isUnknown ? [] : found.slice(from, from + limit)), total: found.length };
}

function lightRows(db: Db, run: RunRecord, group: Partial<DecisionGroupKey>): Light[] {
  const given = GROUP.flatMap((column) => (group[column] === undefined ? [] : [[column, group[column]] as const]));
  const only = {
    conditions: given.map(([column]) => `AND +${column} = ?`).join(' '),
    values: given.map(([, value]) => value),
  };
  const { sql, values } = inForceIn(run, COLUMNS, only);
  return db.all<Light>(`SELECT * FROM ${sql} ORDER BY ${ORDER}`, ...values);
}

/** In the same order. */
function wholeRows(db: Db, rows: readonly Light[]): Promise<StoredDecision[]> {
  return decisionsById(
    db,
    rows.map(({ id }) => id),
  );
}

const KNOWN = `SELECT id, serial_key, name_key, owners FROM identities
  WHERE kind = ? AND id IN (SELECT value FROM json_each(?))`;

function knownOf(db: Db, rows: readonly Light[]): KnownBy {
  const known = new Map<string, Known>();
  for (const [kind, some] of grouped(rows, ({ kind }) => kind)) {
    const ids = JSON.stringify([...new Set(some.map(({ subject }) => subject))]);
    const found = db.all<Omit<Known, 'owners'> & { id: string; owners: string | null }>(KNOWN, kind, ids);
    for (const { id, owners, ...keys } of found) {
      known.set(`${kind} ${id}`, { ...keys, owners: ownersIn(owners) });
    }
  }
  return ({ kind, subject }) => known.get(`${kind} ${subject}`);
}

function ownersIn(text: string | null): string[] {
  return text === null ? [] : storedJson<string[]>(text).map(nameKey);
}

/** Those that the text names; all of them without one. */
function naming(rows: Light[], known: KnownBy, text: string | undefined): Light[] {
  const part = nameKey(text ?? '');
  if (part === '') return rows;
  return rows.filter((row) => {
    const { serial_key, name_key, owners = [] } = known(row) ?? {};
    const own = [row.subject, row.subject_name, row.target].map((name) => name.toLowerCase());
    return [...own, serial_key, name_key, ...owners].some((name) => name?.includes(part));
  });
}

/** In the order of the first of each. */
function grouped(rows: readonly Light[], keyOf: (row: Light) => string): Map<string, Light[]> {
  const groups = new Map<string, Light[]>();
  for (const row of rows) {
    const key = keyOf(row);
    const group = groups.get(key);
    if (group) group.push(row);
    else groups.set(key, [row]);
  }
  return groups;
}
