// sources: the last good table of each source, and how its newest reading ended, kept in a folder beside the database: another process, and the same
// one after a restart, goes on with them. A table is a file named by its hash; what its times are is in the file of its source, which is replaced last.
import { createHash } from 'node:crypto';
import { access, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makeFolder, writeWhole } from '../base/files.ts';
import { giveWay } from '../base/turns.ts';
import { digestOf } from '../domain/digest.ts';
import { type Facts, isFacts } from '../domain/facts.ts';
import type { FactTable, GivenFacts, GivenReading, GivenSource } from '../domain/given-facts.ts';
import { parseExact } from '../platform/contract/exact-json.ts';
import type { TableContent } from './table.ts';

export interface GivenState {
  meaning: string;
  triedAt: number;
  /** What shows that nothing changed. */
  mark?: string | undefined;
  fault?: GivenReading['fault'];
  table?: Omit<FactTable, 'source' | 'meaning' | 'rows' | 'repeated'> | undefined;
  /** A problem that people were alerted of ended. */
  back?: { at: number; sinceMs: number } | undefined;
}

export type GivenStanding = GivenReading<NonNullable<GivenState['table']>> & Pick<GivenState, 'mark' | 'back'>;

type Rows = Pick<FactTable, 'hash' | 'rows' | 'repeated'>;

const LINES_OF_TURN = 2_000;

/** Another key, field or place makes another table; when it is read and for how long it counts do not. */
export function meaningOf({ key, fields, origin }: GivenSource): string {
  return digestOf(JSON.stringify({ key, fields, origin }));
}

export class GivenTables implements GivenFacts {
  private readonly states = new Map<string, GivenState>();
  private readonly rows = new Map<string, Rows>();

  /** Undefined: nothing outlasts the process. */
  constructor(private readonly folder: string | undefined) {}

  async readings(sources: readonly GivenSource[]): Promise<ReadonlyMap<string, GivenReading>> {
    const found = new Map<string, GivenReading>();
    for (const source of sources) {
      const { table: kept, ...standing } = await this.standing(source);
      const rows = kept && (await this.rowsOf(source.name, kept.hash));
      const table = kept && rows && { source: source.name, meaning: meaningOf(source), ...kept, ...rows };
      found.set(source.name, { ...standing, table });
    }
    return found;
  }

  /** Of this source as it is configured now, without its rows. */
  async standing(source: GivenSource): Promise<GivenStanding> {
    const state = await this.stateOf(source.name);
    if (state?.meaning !== meaningOf(source)) return { source, table: undefined, triedAt: undefined, fault: undefined };
    const { table, triedAt, fault, mark, back } = state;
    const hasRows = table && (this.folder === undefined || (await this.has(tableFile(source.name, table.hash))));
    return { source, table: hasRows ? table : undefined, triedAt, fault, mark, back };
  }

  /** `content`: of a new table. Errors: those of node:fs. */
  async keep({ name }: Pick<GivenSource, 'name'>, state: GivenState, content?: TableContent): Promise<void> {
    if (content) {
      const { hash, rows, repeated } = content;
      this.rows.set(name, { hash, rows, repeated });
    }
    this.states.set(name, state);
    if (this.folder === undefined) return;
    await makeFolder(this.folder, 0o700);
    if (content) {
      // A table that a power cut spoiled is not of its hash, and read anew: it need not be on the disk before its state.
      const file = join(this.folder, tableFile(name, content.hash));
      await writeFile(`${file}.new`, content.pieces, { mode: 0o600 });
      await rename(`${file}.new`, file);
    }
    writeWhole(join(this.folder, `${name}.state`), JSON.stringify(state), 0o600);
    if (content) await this.remove((file) => isTableOf(file, name) && file !== tableFile(name, content.hash));
  }

  /** What is of no source any longer. */
  async forgetOthers(sources: readonly GivenSource[]): Promise<void> {
    const names = sources.map(({ name }) => name);
    for (const name of this.states.keys()) {
      if (names.includes(name)) continue;
      this.states.delete(name);
      this.rows.delete(name);
    }
    await this.remove((file) => !names.some((name) => file === `${name}.state` || isTableOf(file, name)));
  }

  private async has(file: string): Promise<boolean> {
    return access(join(this.folder ?? '', file)).then(
      () => true,
      () => false,
    );
  }

  private async remove(isOld: (file: string) => boolean): Promise<void> {
    if (this.folder === undefined) return;
    const files = await readdir(this.folder).catch(() => [] as string[]);
    for (const file of files.filter(isOld)) await rm(join(this.folder, file), { force: true });
  }

  /** As it is on the disk, where another process may have replaced it. What is not readable there is not there. */
  private async stateOf(name: string): Promise<GivenState | undefined> {
    if (this.folder === undefined) return this.states.get(name);
    const text = await readFile(join(this.folder, `${name}.state`), 'utf8').catch(() => '');
    const state = jsonIn(text);
    return isFacts(state) && typeof state.meaning === 'string' ? (state as unknown as GivenState) : undefined;
  }

  private async rowsOf(name: string, hash: string): Promise<Rows | undefined> {
    const known = this.rows.get(name);
    if (known?.hash === hash || this.folder === undefined) return known;
    const text = await readFile(join(this.folder, tableFile(name, hash)), 'utf8').catch(() => undefined);
    if (text === undefined) return undefined;
    // INVARIANT: what somebody changed or cut is no table, and is read anew.
    if (createHash('sha256').update(text).digest('hex') !== hash) {
      await this.remove((file) => file === tableFile(name, hash));
      return undefined;
    }
    const [rows, repeated] = [new Map<string, Facts>(), new Set<string>()];
    for (const [at, line] of text.split('\n').entries()) {
      if (line === '') continue;
      const [key, facts] = parseExact(line) as [string, Facts | undefined];
      if (facts === undefined) repeated.add(key);
      else rows.set(key, facts);
      if (at % LINES_OF_TURN === 0) await giveWay();
    }
    const read = { hash, rows, repeated };
    this.rows.set(name, read);
    return read;
  }
}

function tableFile(name: string, hash: string): string {
  return `${name}.${hash.slice(0, 16)}.ndjson`;
}

function isTableOf(file: string, name: string): boolean {
  return file.startsWith(`${name}.`) && file.endsWith('.ndjson');
}

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
