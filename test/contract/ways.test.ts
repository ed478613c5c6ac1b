// contract: whichever way an operation is asked for (over HTTP, of the engine in this process, by a command with and without a daemon), the same input
// gets the same answer, or the same code of error. Each way has an organization of its own, equal to the others; what differs by nature (ids, times,
// who asked) is written as its place.
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { jsonPieces, plainJson } from '../../src/base/json.ts';
import { type Entry, partsOf } from '../../src/contract/operation.ts';
import { codeOfProblem } from '../../src/contract/problem.ts';
import {
  OPERATION_IDS,
  OPERATIONS,
  type OperationId,
  operationsFor,
  type Performer,
} from '../../src/contract/table.ts';
import { AppError } from '../../src/domain/errors.ts';
import { runCycle } from '../../src/engine/cycle.ts';
import { askExemption } from '../../src/engine/operate/exemption-requests.ts';
import { type Daemon, startDaemon } from '../../src/runtime/daemon/daemon.ts';
import { composedDeps } from '../../src/runtime/daemon/http-deps.ts';
import { turnsIn, UnderWay } from '../../src/runtime/daemon/under-way.ts';
import { readingOf } from '../../src/runtime/operations/performer.ts';
import { RunQueue } from '../../src/runtime/schedule/run-queue.ts';
import { commandOrThrow } from '../support/in-process.ts';
import { BAN_COMPROMISED, type Organization, startOrganization } from '../support/organization.ts';

/** Of other devices than the rule that acts. */
const ASK = BAN_COMPROMISED.replace('mode: enforce', 'mode: approve')
  .replace('ban-compromised', 'ask-for')
  .replace('"==": [{ var: MdmData.CompromisedStatus }, "TRUE"]', 'in: ["ASKED", { var: SerialNumber }]')
  .replace('given: { MdmData: { CompromisedStatus: "TRUE" } }', 'given: { SerialNumber: ASKED-1 }')
  .replace('revert: true', 'revert: true\nrollout: { steps: [100%], each: 1h }');
const TOKEN = 'a-token-of-the-tests-0123456789';
const LONG = 'x'.repeat(1_001);

/** What is there before an operation, by its name: the same of each organization, but for its id. */
interface Known {
  plan: string;
  /** What an approval made of it. */
  part: string;
  rest: string;
  intent: string;
  exemption: string;
  /** Two, of two devices. */
  requests: string[];
  run: string;
  device: string;
}

type Input = Record<string, unknown>;

interface Case {
  id: OperationId;
  /** `good` is answered; `bad` is refused; `edge`: the most that is taken, or a state that forbids it. */
  of: 'good' | 'bad' | 'edge';
  input: (known: Known) => Input;
  /** The command that asks the same; none: there is no such command. */
  line?: (known: Known) => string[];
  /** Of the answer: what the command prints. */
  part?: (answer: never) => unknown;
}

const REASON = ['--reason', 'a test'];
const cases: Case[] = [];
/** The cases of one operation, in their order. */
function operation(id: OperationId, ...all: Omit<Case, 'id'>[]): void {
  cases.push(...all.map((one) => ({ id, ...one })));
}
const good = (input: Case['input'], line?: Case['line'], part?: Case['part']) =>
  ({ of: 'good', input, ...(line && { line }), ...(part && { part }) }) as const;
const bad = (input: Case['input'], line?: Case['line']) => ({ of: 'bad', input, ...(line && { line }) }) as const;
const edge = (input: Case['input'], line?: Case['line'], part?: Case['part']) =>
  ({ of: 'edge', input, ...(line && { line }), ...(part && { part }) }) as const;

// What reads.
operation(
  'listRuns',
  good(() => ({})),
  bad(() => ({ limit: '0' })),
  edge(() => ({ limit: '1000', before: '1' })),
);
operation(
  'getRun',
  good(({ run }) => ({ id: run })),
  bad(() => ({ id: 'no-such-run' })),
  edge(() => ({ id: 'latest' })),
);
operation(
  'getReport',
  good(
    () => ({ id: '1' }),
    () => ['report', '1'],
  ),
  bad(
    () => ({ id: '99' }),
    () => ['report', '99'],
  ),
  edge(
    () => ({ id: 'latest' }),
    () => ['report', 'latest'],
  ),
);
operation(
  'listPlans',
  good(() => ({})),
  bad(() => ({ status: 'lost' })),
  edge(() => ({ status: 'rejected', limit: '1' })),
);
operation(
  'getPlan',
  good(
    ({ plan }) => ({ id: plan }),
    ({ plan }) => ['plans', plan],
  ),
  bad(
    () => ({ id: 'none' }),
    () => ['plans', 'none'],
  ),
  edge(
    ({ plan }) => ({ id: plan.slice(0, 22) }),
    ({ plan }) => ['plans', plan.slice(0, 22)],
  ),
);
operation(
  'listDecisions',
  good(
    () => ({ limit: '5' }),
    () => ['decisions', '--limit', '5'],
    ({ decisions }: { decisions: unknown }) => decisions,
  ),
  bad(
    () => ({ rule: 'nobody' }),
    () => ['decisions', '--rule', 'nobody'],
  ),
  edge(
    () => ({ owner: 'nobody@example.com' }),
    () => ['decisions', '--owner', 'nobody@example.com'],
  ),
);
operation(
  'listSubjects',
  good(
    () => ({ kind: 'device', sort: 'level', limit: '3' }),
    () => ['devices', '--sort', 'level', '--limit', '3'],
  ),
  bad(
    () => ({ kind: 'device', level: 'high' }),
    () => ['devices', '--level', 'high'],
  ),
  edge(
    () => ({ kind: 'service', q: 'no service is called so', enabled: 'unknown' }),
    () => ['services', 'no service is called so', '--enabled', 'unknown'],
  ),
);
operation(
  'getSubject',
  good(({ device }) => ({ kind: 'device', id: device })),
  bad(() => ({ kind: 'planet', id: 'x' })),
  edge(() => ({ kind: 'user', id: 'nobody@example.com' })),
);
operation(
  'listIntents',
  good(() => ({})),
  bad(() => ({ outcome: 'perfect' })),
  edge(() => ({ status: 'planned', before: 'no-such-id' })),
);
operation(
  'listClaims',
  good(
    () => ({ status: 'open', limit: '1000' }),
    () => ['claims', 'list'],
  ),
  bad(
    () => ({ limit: 'many' }),
    () => ['claims', 'list', '--limit', 'many'],
  ),
  edge(
    () => ({ limit: '2' }),
    () => ['claims', 'list', '--all', '--limit', '2'],
  ),
);
operation(
  'listNotices',
  good(
    () => ({}),
    () => ['notices'],
  ),
  bad(() => ({ status: 'lost' })),
  edge(() => ({ status: 'doubt', limit: '1' })),
);
operation(
  'listNotifications',
  good(() => ({})),
  bad(() => ({ status: 'lost' })),
  edge(() => ({ status: 'given_up', limit: '1' })),
);
operation(
  'getTimeline',
  good(({ device }) => ({ kind: 'device', id: device })),
  bad(() => ({ kind: 'device', id: 'nobody' })),
  edge(({ device }) => ({ kind: 'device', id: device, part: 'facts', limit: '1' })),
);
operation(
  'getSummary',
  good(
    () => ({}),
    () => ['summary'],
  ),
  bad(
    () => ({ since: 'soon' }),
    () => ['summary', '--since', 'soon'],
  ),
  edge(
    () => ({ since: '2000-01-01' }),
    () => ['summary', '--since', '2000-01-01'],
  ),
);
operation(
  'listAudit',
  good(
    () => ({ limit: '1000' }),
    () => ['audit', 'list', '--limit', '1000'],
    ({ entries }: { entries: unknown }) => entries,
  ),
  bad(() => ({ after: '1', before: '2' })),
  bad(
    () => ({ kind: 'intent.send' }),
    () => ['audit', 'list', '--kind', 'intent.send'],
  ),
  edge(() => ({ after: '0', limit: '1' })),
);
operation(
  'getEvidencePack',
  good(
    ({ device }) => ({ of: device }),
    undefined,
    ({ about, entries }: { about: unknown; entries: unknown }) => ({ about, entries }),
  ),
  bad(() => ({ of: 'nobody' })),
  edge(
    ({ device }) => ({ of: device, format: 'html' }),
    undefined,
    ({ rules }: { rules: unknown }) => rules,
  ),
);
operation(
  'verifyAudit',
  good(() => ({})),
  bad(() => ({ whole: true })),
  edge(() => ({})),
);
operation(
  'explainRule',
  good(
    ({ device }) => ({ id: 'ban-compromised-device', subject: device }),
    ({ device }) => ['explain', 'ban-compromised-device', device],
  ),
  bad(
    ({ device }) => ({ id: 'nobody', subject: device }),
    ({ device }) => ['explain', 'nobody', device],
  ),
  edge(
    () => ({ id: 'ban-compromised-device', subject: 'nobody' }),
    () => ['explain', 'ban-compromised-device', 'nobody'],
  ),
);
operation(
  'why',
  good(
    () => ({ of: 'HELD-0' }),
    () => ['why', 'HELD-0'],
  ),
  bad(
    () => ({ of: '' }),
    () => ['why', ''],
  ),
  edge(
    () => ({ of: 'nobody' }),
    () => ['why', 'nobody'],
  ),
);
operation(
  'listRules',
  good(() => ({})),
  bad(() => ({ limit: '1001' })),
  edge(() => ({ after: 'zzz' })),
);
operation(
  'getRule',
  good(() => ({ id: 'ban-compromised-device' })),
  bad(() => ({ id: 'nobody' })),
  edge(() => ({ id: 'ban-compromised' })),
);
operation(
  'tryRule',
  good(() => ({ id: 'ban-compromised-device', text: BAN_COMPROMISED })),
  bad(() => ({ id: 'ban-compromised-device', text: '' })),
  edge(() => ({ id: 'ban-compromised-device', text: 'id: [' })),
);
operation(
  'getReplay',
  bad(() => ({ whole: 'yes' })),
  edge(() => ({})),
);
operation(
  'beginReplay',
  bad(() => ({ since: 'soon' })),
  edge(() => ({ since: '2999-01-01' })),
);
operation(
  'getEvidence',
  good(() => ({ id: 'ban-compromised-device' })),
  bad(() => ({ id: 'nobody' })),
  edge(() => ({ id: 'ask-for-device' })),
);
operation(
  'listExemptions',
  good(
    () => ({ inForce: 'true', limit: '1000' }),
    () => ['exempt', 'list'],
  ),
  bad(
    () => ({ limit: '0' }),
    () => ['exempt', 'list', '--limit', '0'],
  ),
  edge(
    () => ({ limit: '1' }),
    () => ['exempt', 'list', '--all', '--limit', '1'],
  ),
);
operation(
  'listInbox',
  good(
    () => ({}),
    () => ['inbox'],
  ),
  bad(
    () => ({ before: 'nowhere' }),
    () => ['inbox', '--before', 'nowhere'],
  ),
  edge(
    () => ({ state: 'pending', limit: '1' }),
    () => ['inbox', '--state', 'pending', '--limit', '1'],
  ),
);
operation(
  'listTokens',
  good(() => ({})),
  bad(() => ({ limit: '-1' })),
  edge(() => ({ limit: '1' })),
);

// What changes something: of each, what is refused before what is done.
operation(
  'stop',
  bad(
    () => ({ reason: LONG }),
    () => ['stop', '--reason', LONG],
  ),
  good(
    () => ({ reason: 'a test' }),
    () => ['stop', ...REASON],
  ),
  edge(
    () => ({ reason: ' again ' }),
    () => ['stop', '--reason', ' again '],
  ),
);
// While everything is stopped, an approved plan is applied by nobody.
operation(
  'approvePlan',
  bad(
    ({ plan }) => ({ id: plan, breakGlass: true }),
    ({ plan }) => ['approve', plan, '--break-glass'],
  ),
  edge(
    ({ plan }) => ({ id: plan, only: Array(10_001).fill('T') }),
    ({ plan }) => ['approve', plan, '--only', ...(Array(10_001).fill('T') as string[])],
  ),
  good(
    ({ plan }) => ({ id: plan, reason: ' seen ', only: ['ASKED-0'] }),
    ({ plan }) => ['approve', plan, '--reason', ' seen ', '--only', 'ASKED-0'],
  ),
);
operation(
  'applyPlan',
  bad(
    ({ part }) => ({ id: part, reason: 'alone' }),
    ({ part }) => ['apply', part, '--reason', 'alone'],
  ),
  edge(
    ({ part }) => ({ id: part }),
    ({ part }) => ['apply', part],
  ),
);
operation(
  'resume',
  bad(
    () => ({ reason: '   ' }),
    () => ['resume', '--reason', '   '],
  ),
  good(
    () => ({ reason: 'a test' }),
    () => ['resume', ...REASON],
  ),
  edge(
    () => ({ reason: 'a test' }),
    () => ['resume', ...REASON],
  ),
);
operation(
  'applyPlan',
  good(
    ({ part }) => ({ id: part }),
    ({ part }) => ['apply', part],
  ),
);
operation(
  'rejectPlan',
  bad(
    ({ rest }) => ({ id: rest, reason: '' }),
    ({ rest }) => ['reject', rest, '--reason', ''],
  ),
  good(
    ({ rest }) => ({ id: rest, reason: 'a test' }),
    ({ rest }) => ['reject', rest, ...REASON],
  ),
  edge(
    ({ rest }) => ({ id: rest }),
    ({ rest }) => ['reject', rest],
  ),
);
operation(
  'resumeRollout',
  bad(
    () => ({ id: 'no-such-rule', reason: 'a test' }),
    () => ['rollout', 'resume', 'no-such-rule', ...REASON],
  ),
  edge(
    () => ({ id: 'ask-for-device', reason: 'a test' }),
    () => ['rollout', 'resume', 'ask-for-device', ...REASON],
  ),
);
operation(
  'restartRollout',
  bad(
    () => ({ id: 'ban-compromised-device', reason: 'a test' }),
    () => ['rollout', 'restart', 'ban-compromised-device', ...REASON],
  ),
  good(
    () => ({ id: 'ask-for-device', reason: 'a test' }),
    () => ['rollout', 'restart', 'ask-for-device', ...REASON],
  ),
  edge(
    () => ({ id: 'ask-for-device', reason: ' again ' }),
    () => ['rollout', 'restart', 'ask-for-device', '--reason', ' again '],
  ),
);
operation(
  'acceptSnapshot',
  bad(
    () => ({ source: 'planets', reason: 'a test' }),
    () => ['snapshot', 'accept', 'planets', ...REASON],
  ),
  edge(
    () => ({ source: 'devices', reason: 'a test' }),
    () => ['snapshot', 'accept', 'devices', ...REASON],
  ),
);
const EXEMPT = { owner: 'Ana', until: '30d', unseen: true, reason: 'a test' };
const EXEMPT_LINE = ['--owner', 'Ana', '--until', '30d', '--unseen', ...REASON];
operation(
  'addExemption',
  bad(
    () => ({ ...EXEMPT, subject: { kind: 'planet', id: 'one' } }),
    () => ['exempt', 'add', 'planet', 'one', ...EXEMPT_LINE],
  ),
  good(
    () => ({ ...EXEMPT, subject: { kind: 'device', id: 'one' } }),
    () => ['exempt', 'add', 'device', 'one', ...EXEMPT_LINE],
  ),
  edge(
    () => ({ ...EXEMPT, selector: { field: 'Platform', value: 'Linux' } }),
    () => ['exempt', 'add', '--selector', 'Platform=Linux', ...EXEMPT_LINE],
  ),
);
operation(
  'confirmExemption',
  bad(
    ({ exemption }) => ({ id: exemption, reason: '' }),
    ({ exemption }) => ['exempt', 'confirm', exemption, '--reason', ''],
  ),
  edge(
    ({ exemption }) => ({ id: exemption, reason: 'a test', subject: 'nobody' }),
    ({ exemption }) => ['exempt', 'confirm', exemption, ...REASON, '--subject', 'nobody'],
  ),
);
operation(
  'endExemption',
  bad(
    () => ({ id: 'none', reason: 'a test' }),
    () => ['exempt', 'end', 'none', ...REASON],
  ),
  good(
    ({ exemption }) => ({ id: exemption, reason: 'a test' }),
    ({ exemption }) => ['exempt', 'end', exemption, ...REASON],
  ),
  edge(
    ({ exemption }) => ({ id: exemption, reason: 'a test' }),
    ({ exemption }) => ['exempt', 'end', exemption, ...REASON],
  ),
);
operation(
  'linkPerson',
  bad(
    () => ({ person: 'nobody' }),
    () => ['mine', 'link', 'nobody'],
  ),
  // No address is configured under which anybody could open one.
  edge(
    () => ({ person: 'ana@example.com' }),
    () => ['mine', 'link', 'ana@example.com'],
  ),
);
operation(
  'revokePersonLinks',
  bad(
    () => ({ person: 'ana@example.com', reason: '' }),
    () => ['mine', 'revoke', 'ana@example.com', '--reason', ''],
  ),
  good(
    () => ({ person: 'ana@example.com', reason: 'a test' }),
    () => ['mine', 'revoke', 'ana@example.com', ...REASON],
  ),
  edge(
    () => ({ person: 'a b@example.com', reason: 'a test' }),
    () => ['mine', 'revoke', 'a b@example.com', ...REASON],
  ),
);
const SAY = { say: 'have a good trip' };
const SAY_LINE = ['--say', 'have a good trip'];
operation(
  'listRequests',
  good(
    () => ({}),
    () => ['requests', 'list', '--all'],
  ),
  bad(() => ({ status: 'lost' })),
  edge(
    () => ({ status: 'waiting', limit: '1' }),
    () => ['requests', 'list', '--limit', '1'],
  ),
);
operation(
  'grantRequest',
  bad(
    () => ({ ...SAY, id: 'none' }),
    () => ['requests', 'grant', 'none', ...SAY_LINE],
  ),
  bad(
    ({ requests: [one = ''] }) => ({ ...SAY, id: one, until: '2020-01-01' }),
    ({ requests: [one = ''] }) => ['requests', 'grant', one, ...SAY_LINE, '--until', '2020-01-01'],
  ),
  good(
    ({ requests: [one = ''] }) => ({ ...SAY, id: one, until: '7d', reason: 'a test', reference: 'CHG-7' }),
    ({ requests: [one = ''] }) => [
      'requests',
      'grant',
      one,
      ...SAY_LINE,
      '--until',
      '7d',
      ...REASON,
      '--reference',
      'CHG-7',
    ],
  ),
  edge(
    ({ requests: [one = ''] }) => ({ ...SAY, id: one }),
    ({ requests: [one = ''] }) => ['requests', 'grant', one, ...SAY_LINE],
  ),
);
operation(
  'refuseRequest',
  bad(
    ({ requests: [, other = ''] }) => ({ id: other, say: 'x'.repeat(401) }),
    ({ requests: [, other = ''] }) => ['requests', 'refuse', other, '--say', 'x'.repeat(401)],
  ),
  good(
    ({ requests: [, other = ''] }) => ({ ...SAY, id: other }),
    ({ requests: [, other = ''] }) => ['requests', 'refuse', other, ...SAY_LINE],
  ),
  edge(
    ({ requests: [, other = ''] }) => ({ ...SAY, id: other }),
    ({ requests: [, other = ''] }) => ['requests', 'refuse', other, ...SAY_LINE],
  ),
);
operation(
  'resolveIntent',
  bad(
    ({ intent }) => ({ id: intent, as: 'undone', reason: 'a test' }),
    ({ intent }) => ['intents', 'resolve', intent, '--as', 'undone', ...REASON],
  ),
  edge(
    ({ intent }) => ({ id: intent, as: 'done', reason: 'a test' }),
    ({ intent }) => ['intents', 'resolve', intent, '--as', 'done', ...REASON],
  ),
);
operation(
  'checkSubject',
  // How old its report is differs by what a way takes.
  good(
    ({ device }) => ({ kind: 'device', id: device }),
    ({ device }) => ['check', device],
    ({ isGone, rules }: { isGone: unknown; rules: { rule: string; verdict: string }[] }) => [
      isGone,
      rules.map(({ rule, verdict }) => `${rule} ${verdict}`),
    ],
  ),
  bad(
    () => ({ kind: 'device', id: 'nobody' }),
    () => ['check', 'nobody'],
  ),
  edge(({ device }) => ({ kind: 'user', id: device })),
);
operation(
  'releaseClaims',
  bad(
    () => ({ target: 'HELD-0' }),
    () => ['claims', 'release', 'HELD-0'],
  ),
  bad(
    () => ({ target: 'HELD-0', rule: 'ban-compromised-device', reason: 'a test' }),
    () => ['claims', 'release', 'HELD-0', '--rule', 'ban-compromised-device', ...REASON],
  ),
  good(
    () => ({ target: 'HELD-0', reason: 'a test' }),
    () => ['claims', 'release', 'HELD-0', ...REASON],
  ),
  edge(
    () => ({ rule: 'ban-compromised-device' }),
    () => ['claims', 'release', '--rule', 'ban-compromised-device'],
  ),
);
operation(
  'addToken',
  bad(
    () => ({ name: 'ci', scope: 'root' }),
    () => ['tokens', 'add', 'ci', '--scope', 'root'],
  ),
  good(
    () => ({ name: 'ci', scope: 'read' }),
    () => ['tokens', 'add', 'ci', '--scope', 'read'],
  ),
  edge(
    () => ({ name: 'ci', scope: 'read' }),
    () => ['tokens', 'add', 'ci', '--scope', 'read'],
  ),
);
operation(
  'revokeToken',
  bad(
    () => ({ name: 'nobody' }),
    () => ['tokens', 'revoke', 'nobody'],
  ),
  good(
    () => ({ name: 'ci' }),
    () => ['tokens', 'revoke', 'ci'],
  ),
  edge(
    () => ({ name: 'ci' }),
    () => ['tokens', 'revoke', 'ci'],
  ),
);
operation(
  'triggerRun',
  bad(() => ({ mode: 'off' })),
  edge(() => ({ mode: 'dry-run', rules: ['nobody'] })),
  good(() => ({ mode: 'dry-run', wait: true })),
);

type Answer = { answer: unknown } | { code: string };

interface Way {
  org: Organization;
  known: Known;
  /** Undefined: this way has no such operation. */
  ask(one: Case): Promise<Answer | undefined>;
  close(): Promise<void>;
}

const SETTINGS = {
  TRUSTWARD_TOKEN: TOKEN,
  TRUSTWARD_LISTEN: '127.0.0.1:0',
  TRUSTWARD_SCHEDULE: '0 0 1 1 *',
  TRUSTWARD_WATCH: '0s',
};

async function organization(): Promise<{ org: Organization; known: Known }> {
  const org = await startOrganization({ devices: 40, rules: { ban: BAN_COMPROMISED, ask: ASK }, env: SETTINGS });
  for (const index of [0, 1, 2])
    org.console.fleet.addDevice({ serial: `HELD-${index}`, mdm_compromised: 'TRUE' }, [`owner${index}@acme.example`]);
  for (const index of [0, 1, 2]) org.console.fleet.addDevice({ serial: `ASKED-${index}` });
  await org.run('enforce');
  const tw = (...args: string[]) => commandOrThrow([...args, '--format', 'json'], org.env);
  await org.composition.close();
  const exempted = JSON.parse((await tw('exempt', 'add', 'device', 'two', ...EXEMPT_LINE)).out);
  await org.restart();
  const again = org.composition.engine.store;
  const [intent] = await again.intents({ outcome: 'succeeded' });
  const run = (await again.runs(1))[0];
  const device = intent?.basis[0]?.subjectId ?? '';
  const plan = (await again.plans({ status: 'pending' }, 1))[0];
  const requests: string[] = [];
  for (const { basis } of (await again.intents({ outcome: 'succeeded' })).slice(0, 2)) {
    const id = basis[0]?.subjectId ?? '';
    const person = (await again.identitiesOf([id]))[0]?.owners?.[0] ?? '';
    const asked = { person, device: id, reason: 'on a <b>ship</b>', forMs: 86_400_000 };
    requests.push((await askExemption(org.composition.engine, asked)).id);
  }
  return {
    org,
    known: {
      ...{ plan: plan?.id ?? 'none', part: 'none', rest: 'none' },
      ...{ intent: intent?.id ?? 'none', exemption: exempted.id, requests, run: run?.id ?? 'none', device },
    },
  };
}

/** As a daemon does when it begins. */
async function firstRun({ composition: { engine } }: Organization): Promise<void> {
  await runCycle(engine, { mode: 'enforce', trigger: 'schedule', rules: undefined, waitForDoubts: false });
}

async function daemonOf({ composition }: Organization): Promise<Daemon> {
  const daemon = await startDaemon(composition);
  await vi.waitFor(async () => expect((await composition.engine.store.run('2'))?.status).toBe('completed'), {
    timeout: 60_000,
  });
  return daemon;
}

/** Without what differs by nature: ids in the order in which they come, times, hashes, paths, names of who asks. */
function plain(value: unknown): unknown {
  const text = JSON.stringify(sorted(JSON.parse([...jsonPieces(value)].join(''))));
  const seen = new Map<string, string>();
  const named = (kind: string) => (found: string) => {
    const name = seen.get(found) ?? `<${kind} ${seen.size}>`;
    seen.set(found, name);
    return name;
  };
  return JSON.parse(
    text
      .replace(/\b[0-9a-f]{64}\b/g, '<hash>')
      .replace(/--digest [0-9a-f]{16}/g, '--digest <digest>')
      .replace(/\b01[0-9a-hjkmnp-tv-z]{24}\b/g, named('id'))
      .replace(/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g, named('uuid'))
      .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, '<time>')
      .replace(/\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC/g, '<time>')
      .replace(/tw_[\w-]{40,}/g, '<token>')
      .replace(/"[^"]*trustward-[^"]*"/g, '"<path>"')
      .replace(/127\.0\.0\.1:\d+/g, '<address>')
      .replace(/\b(?:admin|\w+ \(command line\)|\w+ \(token admin\))(?=[":\\ ])/g, '<who>')
      .replace(/(?<="(?:usualMs|ageMs|skewMs|atMs)":)\d+(\.\d+)?/g, '0')
      .replace(/\b\d{19}\b/g, '0')
      .replace(/\b\d{13}\b/g, '0'),
  );
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
  return Object.fromEntries(members.map(([name, member]) => [name, sorted(member)]));
}

function codeOf(error: unknown): Answer {
  if (error instanceof AppError) return { code: error.code };
  throw error;
}

async function overHttp(): Promise<Way> {
  const { org, known } = await organization();
  const daemon = await daemonOf(org);
  return {
    org,
    known,
    // Not by the client, which checks the input before it sends it.
    ask: async ({ id, input }) => {
      const one: Entry = OPERATIONS[id];
      const { params, query, body } = partsOf(one, input(known));
      const path = one.path.replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(String(params[name])));
      const search = new URLSearchParams(
        Object.entries(query).map(([name, value]) => [name, String(value)] as [string, string]),
      );
      const headers = { authorization: `Bearer ${TOKEN}` };
      const sent = one.body ? { method: 'POST', body: JSON.stringify(body) } : {};
      const answer = await fetch(`${daemon.url}${path}${search.size > 0 ? `?${search}` : ''}`, { headers, ...sent });
      const found = (await answer.json()) as { type: string };
      if (!answer.ok) return { code: codeOfProblem(found.type, answer.status) };
      z.decode(one.answers[answer.status]?.schema ?? z.never(), found); // as it is described, and no more
      return { answer: found };
    },
    close: async () => {
      await daemon.stop();
      await org.close();
    },
  };
}

async function inProcess(): Promise<Way> {
  const { org, known } = await organization();
  await firstRun(org);
  const { composition } = org;
  const { engine, clock } = composition;
  const queue = new RunQueue(clock);
  const underWay = new UnderWay();
  const reading = readingOf(composition);
  const deps = composedDeps(composition, {
    ...{ isDaemon: true, readiness: async () => [], nextRunAtMs: () => undefined, metrics: undefined as never },
    ...{ onAudited: () => {}, ending: new AbortController().signal, register: { load: async () => {} } as never },
    trigger: async ({ mode, rules }) => {
      const run = await runCycle(engine, { mode, rules, trigger: 'http', waitForDoubts: false });
      return { run, finished: Promise.resolve(run) };
    },
    turns: turnsIn(queue, { engine, underWay, appliesAtOnce: true }, reading),
    trials: queue,
    underWay,
  });
  const performer: Performer = deps.performer;
  const operations = operationsFor(performer, { by: 'admin' });
  return {
    org,
    known,
    ask: async ({ id, input }) => {
      try {
        const answer = (await operations[id](input(known) as never)) as object;
        const one: Entry = OPERATIONS[id];
        const [{ schema = z.never() } = {}] = Object.values(one.answers);
        return { answer: one.isCoded ? z.encode(schema, plainJson(answer) as never) : answer };
      } catch (error) {
        return codeOf(error);
      }
    },
    close: async () => {
      await queue.stop();
      await org.close();
    },
  };
}

async function byCommand(hasDaemon: boolean): Promise<Way> {
  const { org, known } = await organization();
  const daemon = hasDaemon ? await daemonOf(org) : undefined;
  if (!daemon) {
    await firstRun(org);
    await org.composition.close();
  }
  return {
    org,
    known,
    ask: async ({ line }) => {
      if (!line) return undefined;
      try {
        return { answer: JSON.parse((await commandOrThrow([...line(known), '--format', 'json'], org.env)).out) };
      } catch (error) {
        return codeOf(error);
      }
    },
    close: async () => {
      await daemon?.stop();
      await org.close();
    },
  };
}

/** The two plans that an approval of a part makes. */
function note(known: Known, answer: unknown): void {
  const { id, rest } = answer as { id?: string; rest?: { id: string } | null };
  if (id !== undefined && rest) Object.assign(known, { part: id, rest: rest.id });
}

describe('an operation', () => {
  const ways = new Map<string, Way>();
  let asked = 0;
  beforeAll(async () => {
    ways.set('over HTTP', await overHttp());
    ways.set('in process', await inProcess());
    ways.set('by a command', await byCommand(false));
    ways.set('by a command beside a daemon', await byCommand(true));
  });
  afterAll(async () => {
    process.stdout.write(`${OPERATION_IDS.length} operations, ${cases.length} inputs, ${asked} answers compared\n`);
    for (const way of ways.values()) await way.close();
  });

  it('has a good, a bad and an edge input in this table', () => {
    const of = (id: OperationId) => new Set(cases.filter((one) => one.id === id).map((one) => one.of));
    const lacking = OPERATION_IDS.filter((id) => !of(id).has('bad') || !of(id).has('edge'));
    expect(lacking).toEqual([]);
    // What these answer needs a state that other tests make: a replay, a stopped rollout, an address for persons, a list that is not trusted, a doubt, one that joined later.
    const withoutGood = OPERATION_IDS.filter((id) => !of(id).has('good'));
    expect(withoutGood).toEqual([
      ...[
        'beginReplay',
        'getReplay',
        'confirmExemption',
        'acceptSnapshot',
        'resumeRollout',
        'resolveIntent',
        'linkPerson',
      ],
    ]);
  });

  it.each(cases.map((one, at) => [one.id, one.of, at] as const))(
    '%s (%s input, %i) is answered the same, whichever way it is asked for',
    async (_id, of, at) => {
      const one = cases[at] as Case;
      const answers: Record<string, unknown> = {};
      for (const [name, way] of ways) {
        const found = await way.ask(one);
        if (found === undefined) continue;
        asked += 1;
        if ('answer' in found) note(way.known, found.answer);
        answers[name] = 'code' in found ? found : { answer: plain(one.part?.(found.answer as never) ?? found.answer) };
      }
      const [first, ...others] = Object.values(answers);
      for (const other of others) expect(other).toEqual(first);
      if (of === 'good') expect(first).toHaveProperty('answer');
      if (of === 'bad') expect(first).toHaveProperty('code');
    },
  );
});
