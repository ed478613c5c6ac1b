// run: reads singly what a list shows changed by a person, before that is believed. In: what a list shows otherwise than what was done last, the
// API. Out: for each target whether its own record agrees with the list. A list that its own record contradicts is not trusted.

import type { PrintKey } from '../../base/print-bits.ts';
import type { Action, Bundles } from '../../domain/action.ts';
import { seenKey } from '../../domain/episode.ts';
import { AppError, lineOf } from '../../domain/errors.ts';
import type { Facts } from '../../domain/facts.ts';
import type { PresentPrints } from '../../domain/identity.ts';
import type { Api, TargetReads } from '../../domain/ports.ts';
import { formOf, type HistoryRecorder, type SeenSubjects } from '../../domain/recorded-history.ts';
import type { Run } from '../../domain/run.ts';
import type { OwnRead, SourceReading, TrustReason } from '../../domain/snapshot.ts';
import {
  type Fleet,
  flagText,
  groupsOf,
  SOURCE_OF,
  SOURCES,
  type Source,
  type SubjectKind,
} from '../../domain/subjects.ts';
import type { Judgement } from '../../domain/verdict.ts';
import { readBundles } from '../act/actions/bundle-membership.ts';
import type { Exemptions } from '../decide/exemptions.ts';
import { type ListReads, type Suspect, suspects } from '../decide/reversals.ts';
import { RecordPass } from '../pull/record-pass.ts';
import type { PullEngine } from './engine.ts';
import { boundedLookups, RECORDS_MAX, readEach } from './pulled-snapshot.ts';
import { projectedOwner } from './reading-needs.ts';

/** Targets that one run reads; what a person did to the others stays in doubt until a later one. */
const TARGETS_MAX = 50;

/** Of a list of the platform. */
export type ListReason = TrustReason & { source: Source };

export interface OwnReads {
  /** By `seenKey`. */
  reads: ReadonlyMap<string, OwnRead>;
  contradicted: ListReason[];
}

/** Errors: AppError `api_refused` and `stopped`. A target that cannot be read otherwise stays in doubt. */
export async function readOwnDoings(
  { api, actions, log }: Pick<PullEngine, 'api' | 'actions' | 'log'>,
  seen: ListReads,
): Promise<OwnReads> {
  const found = suspects(seen);
  const lookups: TargetReads = { ...boundedLookups(api), listBundles: () => api.listBundles() };
  const read = async (suspect: Suspect) => {
    try {
      return await compared(lookups, actions.get(suspect.traits.name) as Action, suspect);
    } catch (error) {
      if (!(error instanceof AppError) || error.code === 'api_refused' || error.code === 'stopped') throw error;
      log.warn({ target: suspect.target }, `whether a person reversed it is not known: ${lineOf(error)}`);
      return 'unread';
    }
  };
  const chosen = found.slice(0, TARGETS_MAX);
  const answers = await readEach(chosen, read);
  const reads = new Map(found.map((suspect) => [seenKey(suspect.traits.name, suspect.target), 'unread' as OwnRead]));
  for (const [at, { traits, target }] of chosen.entries())
    reads.set(seenKey(traits.name, target), answers[at] as OwnRead);
  return { reads, contradicted: contradictions(chosen, answers) };
}

async function compared(api: TargetReads, action: Action, { target, subject, found }: Suspect): Promise<OwnRead> {
  const { records } = await action.readBack(api, target, {});
  const isOwn = (record: Facts) => record.DeviceID === subject.id || record.ServiceID === subject.id;
  const record = records.find(isOwn);
  const state = record && flagText(record, action.fieldWritten as string);
  if (state === undefined) return 'unread';
  return state === found ? 'as_listed' : 'as_done';
}

/** One reason for each source, with an example. */
function contradictions(read: readonly Suspect[], answers: readonly OwnRead[]): ListReason[] {
  const against = read.filter((_, at) => answers[at] === 'as_done');
  return SOURCES.flatMap((source): ListReason[] => {
    const all = against.filter(({ subject }) => SOURCE_OF[subject.kind] === source);
    const first = all[0];
    if (!first) return [];
    const { target, traits, found } = first;
    const listed = `the list shows \`${target}\` with ${traits.fieldWritten} ${found}`;
    const own = `its own record, read just now, has ${traits.valueWritten}`;
    const more = all.length > 1 ? ` (and ${all.length - 1} more differ like this)` : '';
    return [{ source, code: 'contradicted', text: `${source}: ${listed}, and ${own}${more}` }];
  });
}

// The groups of owners, which v2 lists do not have, for exemptions of a group.

/** Users that are looked up for one run. */
const USERS_MAX = 5_000;

/**
 * Adds the owners of what matches to `owners`, and their groups to matched users. Returns why they could not be read. Errors: AppError
 * `api_refused` and `stopped`.
 */
export async function readGroups(
  api: Pick<Api, 'user'>,
  judgements: readonly Judgement[],
  fleet: Fleet,
  exemptions: Exemptions,
  owners: Map<string, Facts>,
): Promise<string | undefined> {
  const summaries = judgements.flatMap(({ matches }) => matches.map(({ summary }) => summary));
  const ownersOf = (serial: string) => fleet.devicesOf(serial).flatMap((each) => each.owners ?? []);
  const emails = summaries.flatMap(({ kind, id, serial, serials, owners: own }) => {
    if (kind === 'user') return [id, ...(serials ?? []).flatMap(ownersOf)];
    return kind === 'device' ? [...(own ?? []), ...ownersOf(serial)] : [];
  });
  const wanted = new Set(emails.map((email) => email.toLowerCase()));
  if (wanted.size > USERS_MAX) return `there are ${wanted.size} of them, and at most ${USERS_MAX} are read one by one`;
  const read = await readEach(wanted, async (email) => [email, await api.user(email, RECORDS_MAX)] as const).catch(
    reason,
  );
  if (typeof read === 'string') return read;
  const found = new Map(read);
  for (const [email, user] of read) if (user && exemptions.concernsUser(user)) owners.set(email, projectedOwner(user));
  for (const summary of summaries) {
    const user = summary.kind === 'user' ? found.get(summary.id.toLowerCase()) : undefined;
    if (user) summary.groups = groupsOf(user);
  }
  return undefined;
}

function reason(error: unknown): string {
  if (!(error instanceof AppError) || error.code === 'api_refused' || error.code === 'stopped') throw error;
  return lineOf(error);
}

/** A list that was read, and that nothing is done on. */
export function unreadGroups(reading: SourceReading, why: string): SourceReading {
  if (reading.state !== 'read') return reading;
  const { source } = reading;
  const text = `${source}: v2 lists have no groups, and those of the users who may be exempt could not be read: ${why}`;
  return { ...reading, trusted: false, reasons: [...reading.reasons, { source, code: 'incomplete', text }] };
}

// What one run sees of each kind, for the history. In: how the last recorded runs saw it. Out: for each reading a pass
// over its records; in the end what they saw. Without a history nothing is compared. INVARIANT: a history that does not
// answer never stops a run.

const NONE: PresentPrints = new Int32Array(0);

export class SeenRecords {
  private readonly seen: SeenSubjects[] = [];

  constructor(
    private readonly history: HistoryRecorder | undefined,
    private readonly printKey: PrintKey,
  ) {}

  /** A fresh pass for each attempt at a reading of this form. `latestMs`: no report is of a later time. */
  async passes(
    kind: SubjectKind,
    reading: Pick<SourceReading, 'form' | 'lists'>,
    latestMs: number,
  ): Promise<() => RecordPass> {
    const { history } = this;
    const form = formOf(reading);
    const present = history && form && (await history.presentPrints(kind, form).catch(() => NONE));
    return () => new RecordPass(present, kind, latestMs, this.printKey, history?.changedList?.(kind));
  }

  add(kind: SubjectKind, reading: SourceReading, records: Pick<SeenSubjects, 'changed' | 'prints'> | undefined): void {
    if (records) this.seen.push({ kind, reading, ...records });
  }

  /** With the readings as they are in the end: what is trusted may have changed. */
  all(sources: Record<Source, SourceReading>): SeenSubjects[] {
    return this.seen.map((one) => ({ ...one, reading: sources[SOURCE_OF[one.kind]] }));
  }
}

/** Unreadable bundles are unknown, as on servers without such a list: the preflight before each call reads again. */
export async function pullBundles(
  { api, log }: Pick<PullEngine, 'api' | 'log'>,
  run: Pick<Run, 'id'>,
): Promise<Bundles | undefined> {
  try {
    return await readBundles(api);
  } catch (error) {
    if (error instanceof AppError && (error.code === 'api_refused' || error.code === 'stopped')) throw error;
    log.warn({ run: run.id }, `bundles could not be read: ${lineOf(error)}`);
    return undefined;
  }
}
