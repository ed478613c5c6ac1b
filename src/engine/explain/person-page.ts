// explain: what one person sees of their own devices: whether each works, what is wrong, until when, what was done. In: the person, the store, the
// loaded rules. Out: data for the page. It asks the platform nothing. INVARIANT: a device is shown to who owns it in the last trusted reading, and
// of a match only what is about that device or that person: never the facts, the names or the words of others.

import { DAY_MS } from '../../base/time.ts';
import type { Action, ActionName } from '../../domain/action.ts';
import type { StoredDecision } from '../../domain/decision.ts';
import { type Claim, type Episode, isOpenClaim } from '../../domain/episode.ts';
import { type ExemptionRequest, requestStatusAt } from '../../domain/exemption-request.ts';
import type { Fact } from '../../domain/facts.ts';
import type { ListedSubject } from '../../domain/fleet.ts';
import { nameKey } from '../../domain/identity.ts';
import { isDone } from '../../domain/intent.ts';
import { listedValue } from '../../domain/listed-facts.ts';
import type { NoticeStatus, StoredNotice } from '../../domain/notice.ts';
import type { PersonDevice, PersonLink, PersonPage, PersonProblem } from '../../domain/person-link.ts';
import type { Clock } from '../../domain/ports.ts';
import { isLive, type Rule } from '../../domain/rule.ts';
import type { EngineStore } from '../run/engine.ts';
import { statesOf } from './judge-subject.ts';

export interface PersonPageDeps {
  reader: Pick<
    EngineStore,
    | 'fleetPage'
    | 'decisionsOn'
    | 'openClaimsOn'
    | 'episodesInForce'
    | 'episodes'
    | 'intents'
    | 'plan'
    | 'run'
    | 'notices'
    | 'exemptionRequests'
    | 'exemption'
  >;
  actions: ReadonlyMap<ActionName, Action>;
  rules(): readonly Rule[];
  clock: Pick<Clock, 'nowMs'>;
}

const DEVICES_MAX = 20;
const DONE_MAX = 5;
const NOTICES_READ = 200;
const REQUESTS_READ = 50;

/** Undefined: the match that the link is about is over, with what this person asked about it, or is not this person's any more. */
export async function personPage(deps: PersonPageDeps, link: PersonLink): Promise<PersonPage | undefined> {
  const { person, episodeId } = link;
  const [episode] = await deps.reader.episodesInForce([episodeId]);
  const requests = await requestsOf(deps, person);
  const asked = requests.find((one) => one.episodeId === episodeId && isToBeRead(one, deps.clock.nowMs()));
  const subject = episode?.subject ?? (asked && ({ kind: 'device', id: asked.device } as const));
  // Before their devices are read: the time of a refusal tells nobody whether the person still has some.
  if (!subject) return undefined;
  const { rows, total = rows.length, readAt } = await ownDevices(deps, person);
  if (!isOwn({ subject }, person, rows)) return undefined;
  const first = (one: ListedSubject) => Number(one.identity.id !== subject.id);
  const shown = rows.toSorted((one, other) => first(one) - first(other)).slice(0, DEVICES_MAX);
  const notices = (await deps.reader.notices({ address: person, statuses: COUNTING }, NOTICES_READ)).rows;
  const devices: PersonDevice[] = [];
  for (const row of shown) devices.push(await deviceOf(deps, { person, notices, requests }, row, readAt));
  return { person, devices, more: total - shown.length };
}

/** Episodes in force of this person's devices, and of rules about the person; the newest first. */
export async function openMatches(deps: PersonPageDeps, person: string): Promise<Episode[]> {
  const { rows } = await ownDevices(deps, person);
  const found: Episode[] = [];
  for (const { identity } of rows) found.push(...(await heldBy(deps, identity.serial)).episodes.values());
  const own = found.filter((episode) => isOwn(episode, person, rows));
  return [...new Map(own.map((one) => [one.id, one])).values()].sort((one, other) => other.since - one.since);
}

/** One that was granted ends with the exemption, which may have been ended early. */
async function requestsOf({ reader }: PersonPageDeps, person: string): Promise<ExemptionRequest[]> {
  const { rows } = await reader.exemptionRequests({ person, limit: REQUESTS_READ });
  return Promise.all(
    rows.map(async (request) => {
      const found = request.exemption === undefined ? undefined : await reader.exemption(request.exemption);
      return found ? { ...request, exemptUntil: found.endedAt ?? found.expiresAt } : request;
    }),
  );
}

/** It waits for an answer, or the answer came within a week. */
function isToBeRead(request: ExemptionRequest, nowMs: number): boolean {
  const { answeredAt } = request;
  return requestStatusAt(request, nowMs) === 'waiting' || (answeredAt !== undefined && nowMs - answeredAt < 7 * DAY_MS);
}

function ownDevices({ reader }: PersonPageDeps, person: string) {
  const all = { facts: {}, sort: 'name', isDescending: false } as const;
  return reader.fleetPage({ kind: 'device', owner: person, limit: 1_000, ...all });
}

function isOwn({ subject }: Pick<Episode, 'subject'>, person: string, rows: readonly ListedSubject[]): boolean {
  if (subject.kind === 'user') return nameKey(subject.id) === nameKey(person);
  return subject.kind === 'device' && rows.some(({ identity }) => identity.id === subject.id);
}

interface Held {
  decisions: readonly StoredDecision[];
  claims: readonly Claim[];
  episodes: ReadonlyMap<string, Episode>;
}

/** What proposes something about this serial number now, or holds it. */
async function heldBy({ reader, actions }: PersonPageDeps, serial: string): Promise<Held> {
  if (serial === '') return { decisions: [], claims: [], episodes: new Map() };
  const claims = (await reader.openClaimsOn(serial)).filter(isOpenClaim);
  const claimed = new Set(claims.map(({ episodeId }) => episodeId));
  // What a dry rule would do is no matter of the person, and neither is a message to operators.
  const decisions = (await reader.decisionsOn(serial)).filter(
    ({ mode, action, episodeId = '' }) =>
      claimed.has(episodeId) || (isLive(mode) && actions.get(action)?.changesFleet === true),
  );
  const ids = [...claimed, ...decisions.flatMap(({ episodeId }) => episodeId ?? [])];
  const found = await reader.episodesInForce([...new Set(ids)]);
  return { decisions, claims, episodes: new Map(found.map((one) => [one.id, one])) };
}

/** What this person was told and asked, the newest first. */
interface Known {
  person: string;
  notices: readonly StoredNotice[];
  requests: readonly ExemptionRequest[];
}

/** A deadline that the person may not have heard of makes nothing due: an operator decides. */
const COUNTING = ['delivered'] as const satisfies readonly NoticeStatus[];

async function deviceOf(
  deps: PersonPageDeps,
  { person, notices, requests }: Known,
  { identity, facts }: ListedSubject,
  readAt: number | undefined,
): Promise<PersonDevice> {
  const { id, name, serial, platform, model } = identity;
  const held = await heldBy(deps, serial);
  const intents = serial === '' ? [] : (await deps.reader.intents({ target: serial })).filter(isDone);
  const done = intents
    .flatMap(({ action, settledAt, attempts }) =>
      attempts > 0 && settledAt !== undefined ? [{ action, at: settledAt }] : [],
    )
    .sort((one, other) => other.at - one.at)
    .slice(0, DONE_MAX);
  const own = [...held.episodes.values()].filter(({ subject }) =>
    subject.kind === 'device' ? subject.id === id : nameKey(subject.id) === nameKey(person),
  );
  const asked = requests.filter(({ device }) => device === id);
  // The next run cancels what was said of a deadline.
  const isExempt = asked.some(({ exemptUntil = 0 }) => exemptUntil > deps.clock.nowMs());
  return {
    ...{ id, name, serial, platform, model, readAt },
    blocked: await blockedOf(deps, identity, facts, readAt),
    problems: own.map((episode) => problemOf(deps, episode, held, isExempt ? [] : notices)),
    hasOther: own.length < held.episodes.size,
    factors: notices.find(({ content }) => content.device.id === id)?.content.factors ?? [],
    done,
    requests: asked,
  };
}

async function blockedOf(
  { reader, actions, clock }: PersonPageDeps,
  identity: ListedSubject['identity'],
  facts: number,
  readAt = 0,
): Promise<PersonDevice['blocked']> {
  const isSo = () => listedValue(facts, 'banned') === 'true';
  const states = await statesOf({ actions, reader }, identity, isSo, { atMs: clock.nowMs(), readAtMs: readAt });
  const state = states.find((one) => one.isSo);
  return state && { since: state.isOwn ? state.last?.intent.settledAt : undefined, isOurs: state.isOwn };
}

/** Of the record of a device itself, and of one value: nothing that may name a person. */
const SHOWN =
  /^(MdmData|TrustData)\.(?!Source$)\w+$|^(OS|AppVersion|Platform|Model|Ownership|RegisteredStatus|LastLogin)$/;

function problemOf(
  { rules, actions }: PersonPageDeps,
  episode: Episode,
  { decisions }: Held,
  notices: readonly StoredNotice[],
): PersonProblem {
  const rule = rules().find(({ id }) => id === episode.rule);
  const own = decisions.find(({ episodeId }) => episodeId === episode.id);
  const told = notices.find(({ episodeId, aheadMs }) => episodeId === episode.id && aheadMs === 0);
  // What is decided now is an undo: the facts are those of a device in order.
  const isOver = own?.verdict === 'no_match';
  const isShownHere = episode.subject.kind === 'device' && !isOver;
  const isShown = ([path, value]: [string, Fact]) => SHOWN.test(path) && (value === null || typeof value !== 'object');
  return {
    rule: episode.rule,
    title: rule?.title ?? '',
    since: episode.since,
    isOver,
    facts: isShownHere ? Object.fromEntries(Object.entries(own?.facts ?? {}).filter(isShown)) : {},
    fix: rule?.fix,
    deadline:
      told?.dueAt === undefined
        ? undefined
        : { dueAt: told.dueAt, warnText: actions.get(told.content.action)?.warnText },
    clearing:
      episode.state === 'clearing' && rule?.revert
        ? { since: episode.stateSince, until: episode.stateSince + rule.clearForMs }
        : undefined,
  };
}
