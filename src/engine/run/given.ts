// run: facts from elsewhere as a run reads them: the gate of the platform's own lists, over each new reading of a source. In: readings of the sources of
// the rule set, what is known of earlier ones. Out: tables to judge records by, readings for the report, baselines. INVARIANT: between two whole runs
// records are judged by the tables that the last of them gated.
import type { GivenFacts, GivenReading, GivenSource } from '../../domain/given-facts.ts';
import {
  doubtAt,
  type GivenDoubt,
  type GivenTable,
  type GivenTables,
  packRows,
  REPEATED,
  unreadTable,
} from '../../domain/given-table.ts';
import type { UsedAcceptance } from '../../domain/operator.ts';
import type { Baseline, Movement, SourceReading, TrustReason } from '../../domain/snapshot.ts';
import type { PullReader } from '../../domain/store-ports.ts';
import { givenName } from '../../domain/subjects.ts';
import type { Evaluator } from '../../domain/verdict.ts';
import { redactedBaseline } from '../pull/part-reader.ts';
import { skippedReading } from '../pull/pull-source.ts';
import { acceptStanding, earlierReadings, followMovement } from '../pull/stand-still.ts';
import { acceptReading, distrust, type TrustSettings } from '../pull/trust-gate.ts';

interface GivenAsked {
  sources: readonly GivenSource[];
  evaluator: Pick<Evaluator, 'givenValues'>;
  reader: Pick<PullReader, 'baseline' | 'movement' | 'acceptances'>;
  trust: TrustSettings;
  nowMs: number;
}

/** What a run has of them. */
export interface GivenRead {
  tables: GivenTables;
  readings: SourceReading[];
  baselines: Baseline[];
  movements: Movement[];
  accepted: UsedAcceptance[];
}

interface Gated {
  /** Of the source and the time of the reading. */
  of: string;
  table: GivenTable;
  reading: SourceReading;
}

export class GivenGate {
  private gated = new Map<string, Gated>();

  constructor(private readonly given: GivenFacts) {}

  /** As the last whole run gated them; of a process that had none yet, as such a run would now. */
  async standing(asked: GivenAsked): Promise<GivenTables> {
    if (this.gated.size === 0) return (await this.read(asked, false)).tables;
    return new Map([...this.gated].map(([name, { table }]) => [name, table]));
  }

  /** `isOwn`: of a whole run, whose tables stand from then on. */
  async read(asked: GivenAsked, isOwn: boolean): Promise<GivenRead> {
    const { sources, nowMs } = asked;
    const read: GivenRead = { tables: new Map(), readings: [], baselines: [], movements: [], accepted: [] };
    const readings = sources.length === 0 ? new Map() : await this.given.readings(sources);
    const gated = new Map<string, Gated>();
    for (const source of sources) {
      const one = await this.gate(source, readings.get(source.name), asked, read);
      gated.set(source.name, one);
      read.readings.push(staleOr(one, source, nowMs));
    }
    if (isOwn) this.gated = gated;
    return { ...read, tables: new Map([...gated].map(([name, { table }]) => [name, table])) };
  }

  private async gate(
    source: GivenSource,
    found: GivenReading | undefined,
    { evaluator, reader, trust, nowMs }: GivenAsked,
    read: GivenRead,
  ): Promise<Gated> {
    const name = givenName(source.name);
    const table = found?.table;
    if (!table) {
      const text = found?.fault ? `could not be read: ${found.fault.text}` : 'has not been read yet';
      const reasons: TrustReason[] = [{ source: name, code: 'incomplete', text: `${name} ${text}` }];
      const reading = { ...skippedReading(name, nowMs), state: 'failed' as const, trusted: false, reasons };
      return { of: '', table: unreadTable(source, text), reading };
    }
    const { rows, repeated, readAt, atMs, hash, meaning } = table;
    const acceptance = (await reader.acceptances()).find((one) => one.source === name);
    const of = JSON.stringify([meaning, readAt, hash, source.freshMs]);
    const known = this.gated.get(source.name);
    if (known?.of === of && !acceptance) return known;
    const baseline = redactedBaseline(await reader.baseline(name));
    const before = await reader.movement(name, meaning);
    const { movement, still } = followMovement(
      { source: name, form: meaning, before },
      { content: hash, newestMs: undefined },
      readAt,
      trust,
    );
    const values = evaluator.givenValues(source.name, rows.values());
    const whole: SourceReading = {
      ...skippedReading(name, readAt),
      ...{ state: 'read', form: 'unpaged', startedAt: atMs, finishedAt: readAt, count: rows.size + repeated.size },
    };
    const reasons = distrust({
      reading: whole,
      repeatedKeys: isMany(repeated.size, whole.count, trust) ? [...repeated] : [],
      ...{ values, baseline, skewMs: undefined, still, settings: trust },
    });
    const unaccepted = { ...whole, trusted: reasons.length === 0, reasons };
    const accepted = acceptance && acceptReading(unaccepted, acceptance, trust);
    if (accepted) read.accepted.push(accepted.used);
    const reading = accepted?.reading ?? unaccepted;
    read.movements.push(reading.accepted ? acceptStanding(movement) : movement);
    if (reading.trusted) {
      const earlier = reading.accepted ? [] : earlierReadings(baseline, readAt);
      const { count } = reading;
      read.baselines.push({
        source: name,
        takenAt: readAt,
        count,
        values: { ...baseline?.values, ...values },
        earlier,
      });
    }
    const doubt: GivenDoubt | undefined = reading.trusted
      ? undefined
      : { why: 'untrusted', text: reading.reasons.map(({ text }) => text).join('; ') };
    const isSame = known?.table.hash === hash && known.table.key === source.key.is;
    const all = [...rows, ...[...repeated].map((key) => [key, REPEATED] as const)];
    const packed = isSame ? known.table.rows : packRows(all);
    const times = { atMs, readAt, freshUntilMs: atMs + source.freshMs };
    return { of, reading, table: { source: source.name, key: source.key.is, hash, ...times, doubt, rows: packed } };
  }
}

/** A few keys that several rows have leave these rows out; many of them make the whole doubtful. */
function isMany(repeated: number, count: number, { shrunkRecords, unreadablePercent }: TrustSettings): boolean {
  return repeated > shrunkRecords && (repeated / count) * 100 > unreadablePercent;
}

function staleOr({ table, reading }: Gated, source: GivenSource, nowMs: number): SourceReading {
  if (!reading.trusted || nowMs <= table.freshUntilMs) return reading;
  const name = givenName(source.name);
  const text = `${name}: ${doubtAt(table, nowMs)?.text}`;
  return { ...reading, trusted: false, reasons: [{ source: name, code: 'stale', text }] };
}

/** Nobody reads them. */
export const NO_GIVEN = new GivenGate({ readings: async () => new Map() });
