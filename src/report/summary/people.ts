// report: what people did, for a summary. In: audit entries. Out: one line each, the newest first. A run that somebody asked for is
// counted together with the others of the same person.
import type { AuditKind } from '../../domain/audit-entry.ts';
import { isoTime } from '../../domain/time-text.ts';
import { plural } from '../fact-text.ts';
import { entriesSince, type ReadEntry, textIn } from './entries.ts';
import type { SummedRuns } from './runs.ts';
import type { Counted, SummaryDeed, SummaryReader } from './summary.ts';

const NAMED_MAX = 15;

/** In words, after the name; undefined: the entry is not a person's. */
type Words = (entry: ReadEntry) => string | undefined;

const of = (entry: ReadEntry, ...names: string[]) => names.map((name) => textIn(entry, name)).join(' ');
const hasActor = (entry: ReadEntry) => textIn(entry, 'by') !== '';

const DEEDS: { readonly [kind in AuditKind]?: Words } = {
  'plan.approved': (entry) => `approved plan ${of(entry, 'plan')}`,
  'plan.rejected': (entry) => `rejected plan ${of(entry, 'plan')}`,
  'plan.glass_broken': (entry) => `BROKE THE GLASS: let plan ${of(entry, 'plan')} through the change windows`,
  'plan.applying': (entry) => `applied plan ${of(entry, 'plan')}`,
  'intent.planned': (entry) => (hasActor(entry) ? `released a claim: ${of(entry, 'action', 'target')}` : undefined),
  'claim.released': (entry) =>
    hasActor(entry) ? `released a claim without a call: ${of(entry, 'action', 'target')}` : undefined,
  'intent.resolved': (entry) => `resolved ${of(entry, 'action', 'target')} as ${of(entry, 'as')}`,
  'exemption.added': (entry) => `exempted ${of(entry, 'about')} (exemption ${of(entry, 'exemption')})`,
  'exemption.confirmed': (entry) =>
    `confirmed what joined the exemption of ${of(entry, 'about')} (${of(entry, 'count')})`,
  'exemption.ended': (entry) => `ended the exemption of ${of(entry, 'about')}`,
  'stop.set': () => 'stopped everything',
  'stop.lifted': () => 'resumed',
  'snapshot.accepted': (entry) => `accepted the next reading of ${of(entry, 'source')}`,
  'token.added': (entry) => `made the token ${of(entry, 'name')} of scope ${of(entry, 'scope')}`,
  'token.revoked': (entry) => `revoked the token ${of(entry, 'name')}`,
  'restore.accepted': () => 'accepted a restored database',
  'tables.accepted': () => 'accepted tables that were changed beside the engine',
  'audit.key_replaced': () => 'replaced the signing key',
  'history.forgotten': (entry) => `removed the records of a ${of(entry, 'subject')} from the history`,
  'audit.archived': () => 'archived audit entries',
  // A release has a line of its own.
  'episode.overridden': (entry) =>
    hasActor(entry) ? undefined : `reversed ${of(entry, 'action', 'target')} of rule ${of(entry, 'rule')}`,
};

/** Runs write most entries of these kinds. */
const DONE_BY_RUNS_TOO: ReadonlySet<AuditKind> = new Set(['intent.planned', 'claim.released']);

export async function sumPeople(
  reader: SummaryReader,
  sinceMs: number,
  { seqOf }: SummedRuns,
): Promise<Counted<SummaryDeed>> {
  const newest = new Newest();
  for (const [kind, words] of Object.entries(DEEDS) as [AuditKind, Words][]) {
    const only = DONE_BY_RUNS_TOO.has(kind) ? { hasActor: true as const } : {};
    for await (const entry of entriesSince(reader, kind, sinceMs, only)) {
      const text = words(entry);
      if (text === undefined) continue;
      const { at, seq } = entry;
      const [by, reason] = [textIn(entry, 'by') || null, textIn(entry, 'reason') || null];
      newest.add({ at: isoTime(at), by, text, reason, entry: seq });
    }
  }
  for (const deed of await requestedRuns(reader, sinceMs, seqOf)) newest.add(deed);
  return newest.counted();
}

/** One line for all runs of a person. */
async function requestedRuns(
  reader: SummaryReader,
  sinceMs: number,
  seqOf: SummedRuns['seqOf'],
): Promise<SummaryDeed[]> {
  const asked = new Map<string, { count: number; last: ReadEntry }>();
  for await (const entry of entriesSince(reader, 'run.started', sinceMs, { hasActor: true })) {
    const by = textIn(entry, 'by');
    if (by !== '') asked.set(by, { count: (asked.get(by)?.count ?? 0) + 1, last: entry });
  }
  return [...asked].map(([by, { count, last }]) => {
    const run = seqOf(last.body.run);
    const named = run === null ? '' : count === 1 ? ` (run ${run})` : ` (the last is run ${run})`;
    const text = `asked for ${plural(count, 'run')}${named}`;
    return { at: isoTime(last.at), by, text, reason: null, entry: count === 1 ? last.seq : null };
  });
}

/** Keeps the newest of any number. */
class Newest {
  private count = 0;
  private some: SummaryDeed[] = [];

  add(deed: SummaryDeed): void {
    this.count += 1;
    this.some.push(deed);
    if (this.some.length > 10 * NAMED_MAX) this.trim();
  }

  counted(): Counted<SummaryDeed> {
    this.trim();
    return { count: this.count, some: this.some };
  }

  private trim(): void {
    this.some = this.some.sort((one, other) => (one.at < other.at ? 1 : -1)).slice(0, NAMED_MAX);
  }
}
