// console store: pages and whole lists of devices and end users. In: criteria, an order, and how many. Out: records as
// JSON text, in a stable order (the row's own key breaks ties). It must never read more rows than it returns: a million
// devices are never in memory.
import type { RecordForm } from './records.ts';
import type { SqlValue } from './sql.ts';
import type { ConsoleStore } from './store.ts';

export interface ListSource {
  table: 'device' | 'enduser';
  json: Record<RecordForm, string>;
}

/** Conditions on columns of the table, joined by AND. */
export interface Criteria {
  conditions: string[];
  values: SqlValue[];
}

/** Conditions joined by AND; an undefined value adds no condition. */
export function criteriaOf(asked: readonly (readonly [condition: string, value: SqlValue | undefined])[]): Criteria {
  const given = asked.filter(([, value]) => value !== undefined);
  return { conditions: given.map(([condition]) => condition), values: given.map(([, value]) => value as SqlValue) };
}

/** `column` undefined: as registered. */
export interface Order {
  column: string | undefined;
  descending: boolean;
}

export interface RecordPage {
  records: string[];
  /** Of all matches, whatever the page. */
  count: number;
}

export function readPage(
  store: ConsoleStore,
  source: ListSource,
  criteria: Criteria,
  order: Order,
  skip: number,
  limit: number,
  form: RecordForm,
): RecordPage {
  const count = countMatches(store, source, criteria);
  const wanted = Math.max(0, Math.min(limit, count - skip));
  if (wanted === 0) return { records: [], count };
  // A page beyond the middle is reached from the end, so that the last page costs what the first one does.
  const isNearerEnd = skip > count / 2;
  const offset = isNearerEnd ? count - skip - wanted : skip;
  const direction = order.descending !== isNearerEnd ? 'DESC' : 'ASC';
  // With criteria the few matches are sorted; "+" keeps SQLite from walking the whole index of the order instead.
  const column = order.column && `${criteria.conditions.length > 0 ? '+' : ''}${order.column} ${direction}, `;
  const by = `${column ?? ''}pk ${direction}`;
  // The inner select touches the covering index alone; only the page's own rows are looked up.
  const records = store.sql.values<string>(
    `SELECT ${source.json[form]} FROM
      (SELECT pk, row_number() OVER () AS place FROM
        (SELECT pk FROM ${source.table}${whereOf(criteria)} ORDER BY ${by} LIMIT ? OFFSET ?)) AS k
      CROSS JOIN ${source.table} AS t ON t.pk = k.pk ORDER BY k.place`,
    ...criteria.values,
    wanted,
    offset,
  );
  return { records: isNearerEnd ? records.reverse() : records, count };
}

/** All matches in batches of at most `batch`, each read when it is asked for; a change in between moves nothing. */
export function* readAll(
  store: ConsoleStore,
  source: ListSource,
  criteria: Criteria,
  order: Order,
  form: RecordForm,
  batch = 500,
): Generator<string[]> {
  const direction = order.descending ? 'DESC' : 'ASC';
  const step = order.descending ? '<' : '>';
  const column = order.column ?? 'pk';
  let last: { k: string | bigint; pk: bigint } | undefined;
  for (;;) {
    const after = last && (order.column ? `(t.${column}, t.pk) ${step} (?, ?)` : `t.pk ${step} ?`);
    const conditions = after ? [...criteria.conditions, after] : criteria.conditions;
    const rows = store.sql
      .exact(
        `SELECT t.${column} AS k, t.pk AS pk, ${source.json[form]} AS record FROM ${source.table} AS t
          ${whereOf({ conditions, values: [] })} ORDER BY t.${column} ${direction}, t.pk ${direction} LIMIT ${batch}`,
      )
      .all(...criteria.values, ...(last ? (order.column ? [last.k, last.pk] : [last.pk]) : [])) as {
      k: string | bigint;
      pk: bigint;
      record: string;
    }[];
    if (rows.length > 0) yield rows.map((row) => row.record);
    if (rows.length < batch) return;
    last = rows.at(-1);
  }
}

function countMatches(store: ConsoleStore, source: ListSource, criteria: Criteria): number {
  if (criteria.conditions.length === 0) {
    return store.sql.value<number>('SELECT n FROM tally WHERE name = ?', source.table) ?? 0;
  }
  return store.sql.value<number>(`SELECT count(*) FROM ${source.table}${whereOf(criteria)}`, ...criteria.values) ?? 0;
}

function whereOf(criteria: Criteria): string {
  return criteria.conditions.length === 0 ? '' : ` WHERE ${criteria.conditions.join(' AND ')}`;
}
