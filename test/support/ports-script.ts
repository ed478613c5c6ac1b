// support: calls of every writing method of the store's ports, in an order in which each does something. In: a store. Out: what each answered:
// a value, or the error that a person reads.
import type { ExemptionRequest } from '../../src/domain/exemption-request.ts';
import type { ClaimedNotice, NewNotice } from '../../src/domain/notice.ts';
import type { Alert, ClaimedNotification, FeedClaim } from '../../src/domain/notification.ts';
import type { SqlStore } from '../../src/store/sql-store.ts';
import { deviceSeen, START_MS as SEEN_MS } from './filled-store.ts';
import { type FakeClock, START_MS } from './platform.ts';
import { PRINT_KEY } from './print-key.ts';
import { claim, commitOf, decision, episode, event, intent, plan, run } from './stored-nouns.ts';

type Call = readonly [name: string, call: (store: SqlStore, clock: FakeClock) => unknown];

const notice = [{ kind: 'notice' as const, body: { target: 'S-1', by: 'ana (command line)' } }];
const answered = [{ kind: 'plan.approved' as const, body: { plan: 'p1', digest: 'digest', by: 'ana' } }];
const warned = (id: string, address: string): NewNotice => ({
  ...{ id, episodeId: 'e1', rule: 'ban', subject: { kind: 'device', id: 'd1' }, target: 'S-1', address },
  ...{ print: 'p', round: 1, beforeMs: 1_000, aheadMs: 0, status: 'waiting', createdAt: 7 },
  ...{ dueAt: undefined, until: undefined, deliveredAt: undefined, attempts: 0, nextAt: 7, note: undefined },
  content: {
    rule: { id: 'ban', title: 'Ban', severity: 'high', fix: undefined },
    device: { id: 'd1', name: 'Ada\u2019s \u0000 <i>', serial: 'S-1', platform: '', model: '' },
    ...{ since: 1, action: 'ban_device', factors: [{ text: 'Update it', url: undefined }] },
  },
  remindMs: [500],
});
const token = {
  id: 't1',
  name: 'ci',
  scope: 'read' as const,
  hash: 'a'.repeat(64),
  createdAt: 1,
  createdBy: 'ana',
  expiresAt: undefined,
  revokedAt: undefined,
  revokedBy: undefined,
  usedAt: undefined,
};
const exemption = {
  id: 'ex1',
  subject: { kind: 'device' as const, id: 'd1' },
  selector: undefined,
  owner: 'ana',
  reason: 'known',
  expiresAt: START_MS + 3_600_000,
  createdAt: 1,
  createdBy: 'ana',
  endedAt: undefined,
  endedBy: undefined,
  endedReason: undefined,
  usedAt: undefined,
  warnedAt: undefined,
};
const request: ExemptionRequest = {
  ...{
    id: 'rq1',
    person: 'ada@x.org',
    device: 'd1',
    serial: 'S-1',
    name: 'Ada\u2019s <i>',
    rule: 'r',
    episodeId: undefined,
  },
  ...{ reason: 'a <b>trip</b>\n\u202e', forMs: 3_600_000, askedAt: START_MS, status: 'waiting' as const },
  ...{
    answeredAt: undefined,
    answeredBy: undefined,
    sentence: undefined,
    exemption: undefined,
    exemptUntil: undefined,
  },
};
const answer = { answeredAt: START_MS + 1, answeredBy: 'ana', sentence: 'have a good trip' };
const passkey = {
  ...{ id: 'key', issuer: 'https://id', sub: 'ana', email: 'ana@example.com', name: 'laptop', publicKey: 'spki' },
  ...{ origin: 'https://t', counter: 3, addedAt: 1, removedAt: undefined, usedAt: undefined },
};
const NOTE = { kind: 'passkey.removed', body: {} } as const;
const rollout = {
  ...{ rule: 'r', meaning: 'm', step: 1, passedMs: 5, countedAt: 9, beganAt: 1, since: 2 },
  ...{ reversed: ['e1'], exempted: [], braked: undefined, isPlanned: false },
};
const stop = { at: 7, by: 'ana', reason: 'enough' };
const alert = (key: string): Alert => ({ key, code: 'parked', text: `about ${key}`, about: { key } });
const counting = (beginning: string) => {
  let last = 0;
  return () => {
    last += 1;
    return `${beginning}${last}`;
  };
};
const planned = { ...intent, status: 'planned' as const };
const events = Array.from({ length: 70 }, (_, at) => ({ ...event, id: `v${at}`, createdAtMs: at % 9 }));
const devices = Array.from({ length: 45 }, (_, at) =>
  deviceSeen(`Dev-${at}`, {
    serial: `S-${at % 20}`,
    name: `Näme ${at % 11}\0`,
    owners: at % 3 ? [`p${at % 7}@x.org`] : undefined,
  }),
);

export const CALLS: readonly Call[] = [
  ['bind', (store) => store.bind('http://platform.test', 'v2' as never)],
  ['bind again', (store) => store.bind('http://platform.test')],
  ['bind elsewhere', (store) => store.bind('http://other.test').catch(({ code }) => code)],
  ['keepPrintKey', (store) => store.keepPrintKey(PRINT_KEY)],
  ['keepPrintKey of another one', (store) => store.keepPrintKey(PRINT_KEY.map((word) => word + 1))],
  ['nameDatabase', (store) => store.nameDatabase('the database')],
  [
    'keepClockAgreement',
    (store) =>
      store.keepClockAgreement({ boot: 'b', apartMs: 1, sinceMs: 2, fromMs: 3, seenMs: 4, jumpedMs: 5, setBackMs: 6 }),
  ],
  ['answers: begin', (store) => store.keptAnswers().begin('key', 'POST /api/runs')],
  ['beginRun', (store) => store.beginRun(run, notice, 'key')],
  ['answers: find', (store) => store.keptAnswers().find('key')],
  [
    'answers: keep',
    (store) => store.keptAnswers().keep('key', { status: 202, headers: { a: 'b' }, body: Buffer.from('{}') }),
  ],
  ['answers: kept', (store) => store.keptAnswers().find('key')],
  ['answers: forget', (store) => store.keptAnswers().forget('other')],
  ['saveExemption', (store) => store.saveExemption(exemption, notice)],
  ['addRequest', (store) => store.addRequest(request, notice)],
  ['addRequest: while one waits', (store) => store.addRequest({ ...request, id: 'rq2' }, notice)],
  [
    'addRequest: three in a day and no fourth',
    async (store) => {
      await store.addRequest({ ...request, id: 'rq3', device: 'd3' }, notice);
      await store.addRequest({ ...request, id: 'rq4', device: 'd4', askedAt: START_MS + 5 }, notice);
      return store.addRequest({ ...request, id: 'rq5', device: 'd5', askedAt: START_MS + 60_000 }, notice);
    },
  ],
  ['addRequest: of another person', (store) => store.addRequest({ ...request, id: 'rq6', person: 'bo@x.org' }, notice)],
  [
    'answerRequest',
    (store) => {
      const granted = { ...request, ...answer, status: 'granted' as const, exemption: 'ex1' };
      return store.answerRequest({ request: granted, exemption }, notice);
    },
  ],
  [
    'answerRequest: of two at once one counts, and the exemption of the other is not made',
    (store) => {
      const granted = { ...request, ...answer, answeredBy: 'bo', status: 'granted' as const, exemption: 'ex9' };
      return store.answerRequest({ request: granted, exemption: { ...exemption, id: 'ex9' } }, notice);
    },
  ],
  ['answerRequest: of none', (store) => store.answerRequest({ request: { ...request, id: 'rq9' } }, notice)],
  [
    'answerRequest: to refuse',
    (store) => store.answerRequest({ request: { ...request, ...answer, id: 'rq3', status: 'refused' } }, notice),
  ],
  [
    'answerRequest: after a week',
    (store, clock) => {
      clock.pass(7 * 86_400_000);
      const late = store.answerRequest({ request: { ...request, ...answer, id: 'rq4', status: 'refused' } }, notice);
      return late.finally(() => clock.pass(-7 * 86_400_000));
    },
  ],
  ['membersNow: nothing read', (store) => store.membersNow(exemption)],
  [
    'addExemptionMembers',
    (store) => store.addExemptionMembers('ex1', [{ kind: 'device', id: 'd1', serial: 'S' }], notice),
  ],
  [
    'saveExemption of one that begins alike',
    (store) =>
      store.saveExemption(
        { ...exemption, id: 'ex2', subject: undefined, selector: { kind: 'device', field: 'Model', value: 'M' } },
        notice,
      ),
  ],
  [
    'commitRun',
    (store) =>
      store.commitRun(
        commitOf({
          episodes: [episode],
          intents: [planned],
          claims: [{ ...claim, status: 'ended', endedAt: 9 }],
          decisions: [decision, { ...decision, id: 'x2', decision: 'hold', reason: 'frozen', intentId: undefined }],
          plan,
          baselines: [{ source: 'devices', takenAt: 1, count: 2, values: { Platform: { macOS: 2 } } } as never],
          observed: { events: events.slice(0, 40), coverage: { fromMs: 0, toMs: 5 }, forgetBeforeMs: 0 },
          exemptions: { used: ['ex1'], warned: ['ex2'] },
          rollouts: [rollout, { ...rollout, rule: 'other', braked: { at: 3, why: 'people reversed 2' } }],
          notes: notice,
        }),
      ),
  ],
  [
    'setRollout',
    (store) => store.setRollout('other', { ...rollout, rule: 'other', step: 2, countedAt: undefined }, notice),
  ],
  ['rollouts', (store) => store.rollouts()],
  ['setRollout of none', (store) => store.setRollout('other', undefined, notice)],
  ['rollouts without it', (store) => store.rollouts()],
  ['savePasskey', (store) => store.savePasskey(passkey, NOTE)],
  ['savePasskey twice', (store) => store.savePasskey(passkey, NOTE).catch(({ code }) => code)],
  ['savePasskey removed', (store) => store.savePasskey({ ...passkey, removedAt: 9 }, NOTE)],
  ['passkeys', (store) => store.passkeys()],
  ['tableDifferences', (store) => store.tableDifferences()],
  [
    'commitRun twice',
    (store) => store.commitRun(commitOf({ intents: [{ ...intent, id: 'i9' }] })).catch(({ code }) => code),
  ],
  ['observeEvents', (store) => store.observeEvents({ events, coverage: { fromMs: 4, toMs: 9 }, forgetBeforeMs: 2 })],
  [
    'observeEvents again',
    (store) => store.observeEvents({ events, coverage: { fromMs: 20, toMs: 30 }, forgetBeforeMs: 0 }),
  ],
  ['lastEventNo', async (store) => (await store.lastEventNo()) > 0],
  [
    'saveIdentities of a first list',
    (store) => store.saveIdentities([{ kind: 'device', changed: devices, had: undefined, readAt: 1 }]),
  ],
  [
    'saveIdentities of some',
    (store) =>
      store.saveIdentities([
        {
          kind: 'device',
          changed: [deviceSeen('Dev-1', { name: 'Other', owners: ['new@x.org'] })],
          had: { key: PRINT_KEY, has: (prints, at) => (prints[at] as number) % 2 === 0 },
          readAt: 2,
        },
      ]),
  ],
  [
    'identitiesNamed',
    (store) =>
      Promise.all(['dev-1', 's-3', 'NÄME 4\0', 'P2@x.org', 'new@x.org'].map((text) => store.identitiesNamed(text))),
  ],
  [
    'membersNow, joinedLater',
    async (store) => {
      const about = { subject: undefined, selector: { kind: 'device' as const, field: 'SerialNumber', value: 's-3' } };
      const owned = { subject: { kind: 'user' as const, id: 'P1@x.org' }, selector: undefined };
      const column = { subject: undefined, selector: { kind: 'device' as const, field: 'Platform', value: 'macOS' } };
      const listed = await Promise.all([about, owned, column].map((one) => store.membersNow(one)));
      const later = { ...exemption, ...about, members: '' };
      return [listed, await store.joinedLater(later, 2), await store.joinedLater({ ...later, ...column }, 1)];
    },
  ],
  [
    'identitiesSelected',
    (store) =>
      Promise.all(['Platform', 'Model', 'SerialNumber'].map((field) => store.identitiesSelected(field, 'macOS'))),
  ],
  ['decisions of an owner', (store) => store.decisions({ limit: 5, owner: 'p1@x.org' })],
  [
    'openStateOf',
    (store, clock) => store.openStateOf(clock.nowMs(), { kinds: ['device'], subjects: ['d1'], targets: ['S-1'] }),
  ],
  [
    'changePlan',
    (store) =>
      store.changePlan({ ...plan, status: 'approved', decidedBy: 'ana', decidedAt: 1 }, [], answered, 'pending'),
  ],
  [
    'changePlan of another status',
    (store) => store.changePlan(plan, [], [], 'pending').catch(({ code, message }) => [code, message]),
  ],
  [
    'replacePlans',
    (store) => store.replacePlans({ superseded: ['p1'], sealed: { ...plan, id: 'p2' } }, []).catch(({ code }) => code),
  ],
  ['markSent', (store) => store.markSent({ intentId: 'i1', run: 'r1', notes: notice, latency: { atMs: 1 } as never })],
  ['settle in doubt', (store) => store.settle({ intentId: 'i1', outcome: 'unknown', note: 'lost', notes: notice })],
  ['resolve', (store) => store.resolve({ intentId: 'i1', outcome: 'failed', note: 'by hand', notes: notice })],
  ['reopen', (store) => store.reopen({ intents: [{ ...planned, attempts: 1 }], notes: notice })],
  ['markSent again', (store) => store.markSent({ intentId: 'i1', run: 'r1', notes: notice })],
  [
    'settle as refused',
    (store) =>
      store.settle({ intentId: 'i1', outcome: 'failed', note: '401', refused: { with: 'print' } as never, notes: [] }),
  ],
  [
    'markSent of one that is over',
    (store) => store.markSent({ intentId: 'nobody', run: 'r1', notes: [] }).catch(({ code }) => code),
  ],
  [
    'release',
    (store) =>
      store.release({
        intent: { ...planned, id: 'i2', basis: [], released: true },
        claims: [{ ...claim, id: 'c2' }],
        episodes: [{ ...episode, state: 'closed', closedAt: 8 }],
        notes: notice,
      }),
  ],
  [
    'withdraw',
    (store) =>
      store.withdraw({
        intentId: 'i2',
        notes: notice,
        why: { decision: 'skip', reason: 'drifted', reasonText: 'why' },
      }),
  ],
  [
    'saveAcceptance',
    (store) =>
      store.saveAcceptance(
        { source: 'devices', at: 1, by: 'ana', reason: 'so', run: 'r1', causes: [], count: 3 },
        notice,
      ),
  ],
  ['setStop', (store) => store.setStop(stop, notice)],
  ['setStop again', (store) => store.setStop({ ...stop, reason: 'still' }, notice)],
  ['tokens: save', (store) => store.tokens().save(token, notice)],
  [
    'tokens: save a second of its name',
    (store) =>
      store
        .tokens()
        .save({ ...token, id: 't2' }, notice)
        .catch(({ code, message }) => [code, message]),
  ],
  ['tokens: revoke', (store) => store.tokens().save({ ...token, revokedAt: 5, revokedBy: 'ana' }, notice)],
  ['tokens: noteUse', (store) => store.tokens().noteUse('t1', 99)],
  ['outbox: raise', (store) => store.outbox().raise([alert('k1'), alert('k2')], ['hook', 'mail'], counting('n'))],
  ['outbox: raise fewer', (store) => store.outbox().raise([alert('k2'), alert('k3')], ['hook'], counting('m'))],
  [
    'outbox: claim',
    async (store, clock) => {
      const { outbox, now } = { outbox: store.outbox(), now: clock.nowMs() };
      const [first, second] = await outbox.claim(now, now + 5, 2);
      const others = await outbox.claim(now, now + 5, 9);
      const none = await outbox.claim(now, now + 5, 9);
      await outbox.giveBack(second as ClaimedNotification, now);
      for (const other of others) await outbox.giveBack(other, now);
      // Of a claim that is another's by now: nothing changes.
      const late = { ...(first as ClaimedNotification), claimedUntil: now + 4 };
      await outbox.giveBack(late, now);
      await outbox.postpone(late, now + 1, 'too late');
      await outbox.end(late, 'given_up', 'too late');
      await outbox.postpone(first as ClaimedNotification, now + 9, 'later');
      return [first, second, others, none];
    },
  ],
  [
    'outbox: end',
    async (store, clock) => {
      const { outbox, now } = { outbox: store.outbox(), now: clock.nowMs() };
      const [first] = (await outbox.claim(now, now + 5, 1)) as [ClaimedNotification];
      await outbox.end(first, 'delivered', 'ok');
      await outbox.end(first, 'given_up', 'too late');
      await outbox.end(first, 'delivered', 'again');
    },
  ],
  [
    'outbox: lists',
    (store) =>
      Promise.all([
        store.notifications({ statuses: ['waiting', 'delivered'] }, 3),
        store.notifications({ statuses: ['waiting'], before: 'n2' }, 3),
      ]),
  ],
  [
    'outbox: a page after one that is gone',
    (store) => store.notifications({ statuses: ['waiting'], before: 'gone' }, 3).catch(({ code }) => code),
  ],
  [
    'feedPositions',
    async (store) => {
      const positions = store.feedPositions();
      await positions.beginAt('hook', 3);
      await positions.beginAt('hook', 9);
      const claim = (await positions.claim('hook', 3, 100)) as FeedClaim;
      const refused = [await positions.claim('hook', 3, 100), await positions.claim('hook', 2, 100)];
      await positions.savePosition(claim, 4);
      await positions.savePosition(claim, 3); // it was given back
      const next = await positions.claim('hook', 4, 100);
      return [claim, refused, next, await positions.positionOf('hook'), await positions.positionOf('other')];
    },
  ],
  ['beginRun of a second', (store) => store.beginRun({ ...run, id: 'r2', startedAt: SEEN_MS }, [])],
  [
    'commitRun of a second',
    (store) =>
      store.commitRun(
        commitOf({
          runId: 'r2',
          endedDecisions: ['x1'],
          decisions: [{ ...decision, id: 'x3', intentId: undefined }],
          notices: {
            begun: [warned('w1', 'ada@x.org'), warned('w2', 'bo@x.org'), warned('w3', 'bo@x.org')],
            ended: [],
          },
        }),
      ),
  ],
  [
    'noticeBox: claim',
    async (store, clock) => {
      await store.setStop(undefined, notice);
      const [box, now] = [store.noticeBox(), clock.nowMs()];
      const unsent = [await box.claim(now, now + 100, 9, { hasNoMailer: true }), await store.notices({}, 9)];
      const [first, second, ...none] = await box.claim(now, now + 100, 9);
      await box.end(first as ClaimedNotice, { how: 'not_sent', why: 'ECONNREFUSED' }, now + 50, counting('r'));
      await box.end(second as ClaimedNotice, { how: 'delivered' }, now, counting('r'));
      // Of a claim that is over: nothing changes.
      await box.end({ ...(first as ClaimedNotice), nextAt: now }, { how: 'refused', why: 'late' }, now, counting('s'));
      return [unsent, first, second, none, await box.claim(now, now + 100, 9), await box.nextDueAt()];
    },
  ],
  [
    'noticeBox: a claim that nobody ended',
    async (store, clock) => {
      const box = store.noticeBox();
      clock.pass(60);
      const taken = await box.claim(clock.nowMs(), clock.nowMs() + 10, 9);
      clock.pass(20);
      return [taken, await box.claim(clock.nowMs(), clock.nowMs() + 10, 9), await store.notices({}, 9)];
    },
  ],
  [
    'noticeBox: a deadline that cannot be kept',
    async (store, clock) => {
      clock.pass(500);
      const [box, now] = [store.noticeBox(), clock.nowMs()];
      const freeFrom = (_: string, atMs: number) => Math.max(atMs, now + 5_000);
      return [await box.claim(now, now + 10, 9, { freeFrom }), await store.notices({}, 9), await box.nextDueAt()];
    },
  ],
  [
    'notices: lists',
    (store) =>
      Promise.all([
        store.notices({ statuses: ['delivered', 'doubt'], address: 'BO@x.org' }, 2),
        store.notices({ subjectId: 'd1', before: 'w2' }, 2),
      ]),
  ],
  [
    'notices: ended',
    (store) =>
      store.commitRun(
        commitOf({
          runId: 'r2',
          notices: {
            begun: [{ ...warned('w4', 'ada@x.org'), round: 2 }],
            ended: [
              { ids: ['w2'], status: 'mended', isClosed: true },
              { ids: ['w1'], status: 'cancelled', isClosed: false },
            ],
          },
        }),
      ),
  ],
  ['finishRun', (store) => store.finishRun({ ...run, id: 'r2', seq: 2, status: 'completed', finishedAt: 50 }, notice)],
  ['beginRun of a third', (store) => store.beginRun({ ...run, id: 'r3' }, [])],
  ['abortStaleRuns', (store) => store.abortStaleRuns(60)],
  [
    'expirePlans',
    (store, clock) => {
      clock.pass(2 * 86_400_000);
      return store.expirePlans();
    },
  ],
  ['dropPlanIntents', (store) => store.dropPlanIntents()],
  ['removeOldRuns', (store) => store.removeOldRuns(0)],
  [
    'appendAudit of many',
    (store) => store.appendAudit(Array.from({ length: 330 }, (_, at) => ({ kind: 'notice' as const, body: { at } }))),
  ],
  ['sealAudit', (store) => store.sealAudit()],
  ['acceptRestore', (store) => store.acceptRestore({ stop, notes: notice })],
  ['acceptTables', (store) => store.acceptTables({ stop, notes: notice })],
  [
    'removeArchived without a checkpoint',
    (store) =>
      store.removeArchived({ from: 1, to: 9_999, head: 'h', file: 'f', digest: 'd', by: 'ana', reason: 'full' }).then(
        () => 'done',
        ({ code }) => code,
      ),
  ],
  ['prefix of several', (store) => store.exemption('ex').catch(({ code, message }) => [code, message])],
];

export async function outcomeOf(call: () => unknown): Promise<unknown> {
  try {
    return { value: await call() };
  } catch (error) {
    const { code, message } = error as { code?: string; message: string };
    if (code === undefined) throw error; // of the test, not of a store
    return { code, message: message.replaceAll(/`[^`]*(:memory:|127\.0\.0\.1:[^`]*)`( \([^)]*\))?/g, '`database`') };
  }
}
