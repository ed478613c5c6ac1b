// run: what the event log names others to have done to subjects that Trustward has claims on. In: the events of the last pulls and of this one, open
// claims. Out: acts, the oldest first. It makes no request. INVARIANT: nothing of our own is among them, so that a replay, which decides other things,
// does not take it for somebody else's.
import { NamedActs } from '../decide/away-and-back.ts';
import { clip, NAME_MAX } from '../domain/clip.ts';
import type { TrustEvent } from '../domain/event.ts';
import { type Facts, own } from '../domain/facts.ts';
import { AUDIT_EVENT, type NamedAct } from '../domain/named-act.ts';
import type { SteadyReading } from '../domain/steady-time.ts';
import type { OpenState } from '../domain/store.ts';
import { epochMsOf } from '../domain/timestamp.ts';
import type { PullEngine } from './engine.ts';

/** The server writes the record and the event of one change one after the other. */
const WRITE_MARGIN_MS = 2_000;

export interface NamedActsAsked {
  engine: Pick<PullEngine, 'api' | 'store' | 'actions' | 'quiet' | 'settings'>;
  openState: OpenState;
  steady: SteadyReading;
  /** Events that are read and not stored yet. */
  fresh: readonly TrustEvent[];
  services: ServiceChanges;
}

/** Targets of open claims by their subject. */
type Claimed = ReadonlyMap<string, ReadonlySet<string>>;

/** Without the server's time, its events cannot be set against our own acts: there are none. */
export async function readNamedActs(asked: NamedActsAsked): Promise<NamedAct[]> {
  const { engine, openState, steady, fresh } = asked;
  const aheadMs = engine.api.skewMs();
  const claimed = claimedSubjects(asked);
  if (aheadMs === undefined || claimed.size === 0) return [];
  const named = new NamedActs([], { openState, steady, quietMs: engine.quiet.read().ms });
  const isOthers = (act: NamedAct, targets: ReadonlySet<string>) =>
    [...targets].every((target) => named.isAfterOurs(act, target));
  const found = new Map<string, NamedAct>();
  const note = (event: TrustEvent) => {
    const act = actOf(event, asked, aheadMs);
    const targets = act && claimed.get(`${act.subject.kind} ${act.subject.id}`);
    if (targets && isOthers(act, targets)) found.set(act.event, act);
  };
  const sinceMs = Math.floor((await fromMs(engine, steady.nowMs)) + aheadMs);
  for await (const batch of engine.store.events(sinceMs, AUDIT_EVENT)) for (const event of batch) note(event);
  for (const event of fresh) note(event);
  return [...found.values()].toSorted((a, b) => a.atMs - b.atMs);
}

/** Since the last trusted readings: with the margin within which the log may have been behind. */
async function fromMs({ store, settings }: NamedActsAsked['engine'], nowMs: number): Promise<number> {
  const takenAt = await Promise.all(
    (['devices', 'services'] as const).map(async (source) => (await store.baseline(source))?.takenAt ?? nowMs),
  );
  return Math.min(...takenAt) - settings.events.overlapMs;
}

function claimedSubjects({ engine, openState }: NamedActsAsked): Claimed {
  const kinds = new Map(openState.episodes.map(({ id, subject }) => [id, subject.kind]));
  const claimed = new Map<string, Set<string>>();
  for (const { action, episodeId, subjectId, target } of openState.claims) {
    if (engine.actions.get(action)?.auditedAs === undefined) continue;
    const key = `${kinds.get(episodeId)} ${subjectId}`;
    claimed.set(key, (claimed.get(key) ?? new Set()).add(target));
  }
  return claimed;
}

function actOf(event: TrustEvent, { engine, services }: NamedActsAsked, aheadMs: number): NamedAct | undefined {
  if (event.type !== AUDIT_EVENT) return undefined;
  const traits = [...engine.actions.values()].find(({ auditedAs }) => auditedAs === event.action);
  const kind = traits?.subjects[0];
  const id = kind === 'device' ? event.deviceId : kind === 'service' ? event.serviceId : undefined;
  if (!traits || !kind || id === undefined) return undefined;
  if (kind === 'service' && !services.wasChanged(id, event.createdAtMs)) return undefined;
  const by = event.email && clip(event.email, NAME_MAX);
  return { event: event.id, atMs: event.createdAtMs - aheadMs, subject: { kind, id }, action: traits.name, by };
}

/** The own sign of services: when they were last changed. Records of devices have none. */
export class ServiceChanges {
  private readonly changedAt = new Map<string, number>();

  accept(record: Facts): void {
    const [id, at] = [own(record, 'ServiceID'), own(record, 'LastUpdatedAt')];
    const ms = typeof at === 'bigint' || typeof at === 'number' ? epochMsOf(at) : undefined;
    if (typeof id === 'string' && ms !== undefined) this.changedAt.set(id, ms);
  }

  /** Whether the record was changed at that time of the server or later: what an event alone says of it is not believed. */
  wasChanged(id: string, atMs: number): boolean {
    const changedAt = this.changedAt.get(id);
    return changedAt !== undefined && changedAt >= atMs - WRITE_MARGIN_MS;
  }
}
