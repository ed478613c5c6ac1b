// cli: `exempt list`, `intents list`, `claims list`, `notifications`: exemptions, attempts, claims, and messages
// to people. Reading only.

import { spanText } from '../../base/time.ts';
import type { ClaimShown, ExemptionRequestShown, IntentShown, NoticeShown } from '../../contract/nouns.ts';
import type { Input, Output } from '../../contract/table.ts';
import type { EffectDevice } from '../../domain/action.ts';
import { AppError } from '../../domain/errors.ts';
import { coveredText } from '../../domain/exemption.ts';
import { NOTIFICATION_STATUSES } from '../../domain/notification.ts';
import type { RecordReader } from '../../domain/store-ports.ts';
import { composeReader } from '../../runtime/compose/reader.ts';
import { withReader } from '../../runtime/compose/run-reader.ts';
import { systemClock } from '../../runtime/system/clock.ts';
import { outcomeName } from '../report/decision-words.ts';
import { type Cell, type CellLine, whoLines, whole } from '../report/fact-text.ts';
import { inboxText } from '../report/inbox.ts';
import { views } from '../report/index.ts';
import { joinedText } from '../report/plan-view.ts';
import { terminalList } from '../report/terminal-table.ts';
import { claimWords } from '../report/words.ts';
import { remoteOf } from './config-of.ts';
import { type CommonOptions, countOf, databaseOf, type Io, lineWidthOf, outputOf, widthOf, write } from './io.ts';
import { does, operations } from './operations.ts';

const FORMATS = ['text', 'json'] as const;

export function inboxCommand(io: Io, options: CommonOptions): Promise<number> {
  const widths = { ...widthOf(options), lineWidth: lineWidthOf(options).width };
  const text = (inbox: Output<'listInbox'>) => inboxText(inbox, systemClock.nowMs(), widths).split('\n');
  return does(io, options, 'listInbox', {}, { text });
}

export interface Listing<T extends object> {
  name: string;
  rows: T[];
  /** What the JSON has beside the rows: how many there are, and where the next page begins. */
  page?: { total: number; next: string | null };
  head: string[];
  cells(row: T): Cell[];
  /** What a narrow terminal does without, the first one first. */
  spare?: string[];
}

export async function list<T extends object>(
  io: Io,
  options: CommonOptions,
  read: (reader: RecordReader) => Promise<Listing<T>>,
): Promise<number> {
  outputOf(options, FORMATS, 'text');
  return withReader(composeReader(databaseOf(io, options)), async (reader) =>
    writeList(io, options, await read(reader)),
  );
}

export function writeList<T extends object>(
  io: Io,
  options: CommonOptions,
  { name, rows, page, head, cells, spare }: Listing<T>,
): number {
  const format = outputOf(options, FORMATS, 'text');
  if (format === 'json') write(io, options, JSON.stringify({ [name]: rows, ...page }, null, 2));
  else if (rows.length === 0) write(io, options, `no ${name}`);
  else
    write(
      io,
      options,
      [terminalList(head, rows.map(cells), lineWidthOf(options), spare), ...moreLines(rows, page)].join('\n'),
    );
  return 0;
}

function moreLines(rows: readonly object[], page: Listing<object>['page']): string[] {
  if (!page?.next || page.total <= rows.length) return [];
  return [`${rows.length} of ${page.total}; the next ones: --before ${page.next}`];
}

export interface PageOptions extends CommonOptions {
  all?: boolean;
  limit: string;
  before?: string;
}

/** The largest page of the table. */
const PAGE_MAX = 1_000;

interface Page<T> {
  rows: T[];
  total: number;
  next: string | null;
}

/** As many rows as were asked for, in pages as the table has them. */
export async function readPages<T>(
  { limit, before }: PageOptions,
  read: (page: { limit: string; before?: string }) => Promise<Page<T>>,
): Promise<{ rows: T[]; page: Omit<Page<T>, 'rows'> }> {
  let left = countOf(limit, '--limit', 10_000);
  const rows: T[] = [];
  for (let after = before; ; ) {
    const page = await read({ limit: String(Math.min(left, PAGE_MAX)), ...(after !== undefined && { before: after }) });
    rows.push(...page.rows);
    left -= page.rows.length;
    if (left <= 0 || page.next === null) return { rows, page: { total: page.total, next: page.next } };
    after = page.next;
  }
}

type ListedExemption = Output<'listExemptions'>['exemptions'][number];

/** Exemptions in force; with `--all` also ended ones. JSON is that of `GET /api/exemptions`. */
export async function exemptListCommand(io: Io, options: PageOptions): Promise<number> {
  outputOf(options, FORMATS, 'text');
  const inForce = options.all ? 'false' : 'true';
  const found = await readPages<ListedExemption>(options, async (page) => {
    const { exemptions: rows, ...rest } = await operations(io, options).listExemptions({ inForce, ...page });
    return { rows, ...rest };
  });
  return writeList<ListedExemption>(io, options, {
    name: 'exemptions',
    ...found,
    head: ['Exemption', 'About', 'Until', 'Why', 'Responsible', 'Used'],
    spare: ['Used', 'Responsible'],
    cells: ({
      id,
      about,
      covers,
      joinedLater,
      acceptForgeable,
      inForce,
      expiresAt,
      endedAt,
      owner,
      reason,
      usedAt,
    }) => [
      whole(id),
      [
        whole(about),
        ...(inForce && covers?.count === 0 ? [`warning: ${coveredText(covers)}`] : []),
        ...(acceptForgeable ? ['devices report this themselves'] : []),
        ...[joinedText(joinedLater) ?? []].flat(),
      ],
      whole(endedAt === null ? minuteOf(expiresAt) : `ended ${minuteOf(endedAt)}`),
      reason,
      owner,
      usedAt === null ? 'never' : minuteOf(usedAt),
    ],
  });
}

/** `2026-11-21T09:37:02.123Z` → `2026-11-21 09:37Z`: tables are narrow, and the JSON has the full time. */
export function minuteOf(iso: string): string {
  return `${iso.slice(0, 10)} ${iso.slice(11, 16)}Z`;
}

const STATES = ['planned', 'sent', 'settled', 'withdrawn'] as const;
const OUTCOMES = ['succeeded', 'failed', 'unknown', 'confirmed', 'parked', 'dry_run'] as const;

/** Newest first. JSON is that of `GET /api/intents`. */
export async function intentListCommand(io: Io, options: PageOptions & { state?: string }): Promise<number> {
  outputOf(options, FORMATS, 'text');
  const state = stateOf(options.state);
  const found = await readPages<IntentShown>(options, async (page) => {
    const { intents: rows, ...rest } = await operations(io, options).listIntents({ ...state, ...page });
    return { rows, ...rest };
  });
  return writeList<IntentShown>(io, options, {
    name: 'intents',
    ...found,
    head: ['Id', 'Action', 'Target', 'State', 'Since', 'Note', 'Devices'],
    spare: ['Devices', 'Note', 'Since'],
    cells: (intent) => [
      whole(intent.id),
      intent.action,
      whole(intent.target),
      outcomeName(intent.outcome ?? intent.status),
      whole(minuteOf(intent.settledAt ?? intent.sentAt ?? intent.createdAt)),
      intent.note ?? '',
      namesOf(intent),
    ],
  });
}

function stateOf(state: string | undefined): Pick<Input<'listIntents'>, 'status' | 'outcome'> {
  if (state === undefined) return {};
  const status = STATES.find((known) => known === state);
  const outcome = OUTCOMES.find((known) => known === state);
  if (!status && !outcome)
    throw new AppError('usage', `--state is \`${state}\`: expected ${[...STATES, ...OUTCOMES].join(', ')}`);
  return { ...(status && { status }), ...(outcome && { outcome }) };
}

/** Requests that wait; with `--all` also answered and expired ones. JSON is that of `GET /api/exemption-requests`. */
export async function requestListCommand(io: Io, options: PageOptions): Promise<number> {
  outputOf(options, FORMATS, 'text');
  const status = options.all ? {} : { status: 'waiting' as const };
  const found = await readPages<ExemptionRequestShown>(options, async (page) => {
    const { requests: rows, ...rest } = await operations(io, options).listRequests({ ...status, ...page });
    return { rows, ...rest };
  });
  return writeList<ExemptionRequestShown>(io, options, {
    name: 'requests',
    ...found,
    head: ['Request', 'Device', 'Who', 'Why', 'For', 'State', 'In force on it'],
    spare: ['In force on it', 'For'],
    cells: ({ id, device, serial, name, person, reason, forSeconds, status, expiresAt, sentence, inForce }) => [
      whole(id),
      whoLines({ id: device, name, serial }),
      person,
      reason,
      spanText(1_000 * forSeconds),
      status === 'waiting'
        ? ['waits', `until ${minuteOf(expiresAt)}`]
        : [status, ...(sentence === null ? [] : [sentence])],
      inForce.map(({ action, target }) => `${action} ${target}`),
    ],
  });
}

/** The devices that it touches, as its effect names them. */
function namesOf({ effect: { devices }, target }: Pick<IntentShown, 'effect' | 'target'>): CellLine[] {
  const shown = devices.slice(0, DEVICES_MAX);
  const more = devices.length - shown.length;
  return [...shown.flatMap((device) => whoLines(device, target)), ...(more > 0 ? [`and ${more} more`] : [])];
}

const DEVICES_MAX = 3;

/** Open and orphaned claims; with `--all` also ended ones. Newest first. JSON is that of `GET /api/claims?status=open`. */
export async function claimListCommand(io: Io, options: PageOptions): Promise<number> {
  const format = outputOf(options, FORMATS, 'text');
  const status = options.all ? {} : { status: 'open' as const };
  const found = await readPages<ClaimShown>(options, async (page) => {
    const { claims: rows, ...rest } = await operations(io, options).listClaims({ ...status, ...page });
    return { rows, ...rest };
  });
  const intents = found.rows.map(({ intentId }) => intentId);
  const devices =
    format === 'json' || (await remoteOf(io, options))
      ? new Map<string, EffectDevice>()
      : await withReader(composeReader(databaseOf(io, options)), (reader) => devicesOfIntents(reader, intents));
  return writeList<ClaimShown>(io, options, {
    name: 'claims',
    ...found,
    head: ['Target', 'Done', 'Rule', 'State', 'Since', 'About'],
    spare: ['About', 'Since'],
    cells: (claim) => [
      whole(claim.target),
      claim.action,
      whole(claim.rule),
      claimWords(claim.status),
      whole(minuteOf(claim.openedAt)),
      whoLines(devices.get(claim.subjectId) ?? { id: claim.subjectId }, claim.target),
    ],
  });
}

/** By id, the devices as the intents behind the claims read them. */
async function devicesOfIntents(reader: RecordReader, ids: readonly string[]): Promise<Map<string, EffectDevice>> {
  const intents = await reader.intents({ ids: [...new Set(ids)] });
  return new Map(intents.flatMap(({ effect }) => effect.devices.map((device) => [device.id, device])));
}

/** What people were warned of, the newest first. JSON is that of `GET /api/notices`. */
export async function noticeListCommand(io: Io, options: PageOptions): Promise<number> {
  outputOf(options, FORMATS, 'text');
  const found = await readPages<NoticeShown>(options, async (page) => {
    const { notices: rows, ...rest } = await operations(io, options).listNotices(page);
    return { rows, ...rest };
  });
  return writeList<NoticeShown>(io, options, {
    name: 'notices',
    ...found,
    head: ['To', 'About', 'Rule', 'State', 'Due', 'Why'],
    spare: ['Rule', 'Why'],
    cells: ({ to, action, target, device, rule, stage, status, deliveredAt, dueAt, note }) => [
      whole(to),
      [device, whole(`${action} ${target}`)],
      whole(rule),
      [`${stage}: ${status}`, ...(deliveredAt === null ? [] : [whole(minuteOf(deliveredAt))])],
      dueAt === null ? 'not sent yet' : whole(minuteOf(dueAt)),
      note ?? '',
    ],
  });
}

/** Notifications of the last 30 days that wait or were given up; with `--all` also delivered ones. Newest first. */
export async function notificationListCommand(
  io: Io,
  options: CommonOptions & { all?: boolean; limit: string },
): Promise<number> {
  const limit = countOf(options.limit, '--limit', 10_000);
  const nowMs = systemClock.nowMs();
  return list<ReturnType<typeof views.notification>>(io, options, async (reader) => ({
    name: 'notifications',
    rows: (await reader.notifications({ statuses: options.all ? NOTIFICATION_STATUSES : UNDELIVERED }, limit)).map(
      (one) => views.notification(one, nowMs),
    ),
    head: ['To', 'About', 'What', 'Since', 'Last answer', 'State'],
    spare: ['State', 'About'],
    cells: ({ to, kind, text, status, attempts, at, ageSeconds, nextAttemptAt, lastAnswer }) => [
      to,
      kind,
      text,
      [whole(minuteOf(at)), `${ageOf(ageSeconds)} ago`],
      lastAnswer ?? 'not tried yet',
      [
        status.replace('_', ' '),
        `${attempts} attempt${attempts === 1 ? '' : 's'}`,
        ...(nextAttemptAt === null ? [] : [`next ${minuteOf(nextAttemptAt)}`]),
      ],
    ],
  }));
}

const UNDELIVERED = ['waiting', 'given_up'] as const;

/** `3h`: whole units, the largest that fits. */
function ageOf(seconds: number): string {
  const units = [
    [86_400, 'd'],
    [3_600, 'h'],
    [60, 'm'],
  ] as const;
  const [size, unit] = units.find(([one]) => seconds >= one) ?? [1, 's'];
  return `${Math.floor(seconds / size)}${unit}`;
}
