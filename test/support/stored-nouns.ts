// support: one whole noun of each kind, with every optional field said, and a store to keep them in.

import type { Decision } from '../../src/domain/decision.ts';
import type { Claim, Episode } from '../../src/domain/episode.ts';
import type { TrustEvent } from '../../src/domain/event.ts';
import type { Intent } from '../../src/domain/intent.ts';
import type { Plan } from '../../src/domain/plan.ts';
import type { Run } from '../../src/domain/run.ts';
import type { RunCommit } from '../../src/domain/store.ts';
import { linkEntry } from '../../src/engine/audit/signing-key.ts';
import { migrate, openDatabase, type SqliteDb } from '../../src/store/sqlite/database.ts';
import { SqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import { freshDatabase } from './memory-database.ts';
import { FakeClock, START_MS } from './platform.ts';

export interface OpenStore {
  db: SqliteDb;
  store: SqliteStore;
  clock: FakeClock;
}

export function openStore(file = ':memory:'): OpenStore {
  const clock = new FakeClock();
  const db = file === ':memory:' ? freshDatabase() : openDatabase(file);
  if (file !== ':memory:') migrate(db);
  return { db, store: new SqliteStore(db, linkEntry, clock), clock };
}

export const episode: Episode = {
  id: 'e1',
  rule: 'ban',
  subject: { kind: 'device', id: 'd1' },
  since: 1,
  matchingSince: 2,
  state: 'frozen',
  stateSince: 3,
  absentSince: 4,
  seenSo: ['ban_device S-1'],
  overriddenAt: 5,
  closedAt: undefined,
  closeReason: undefined,
};

export const intent: Intent = {
  id: 'i1',
  runId: 'r1',
  mode: 'enforce',
  planId: undefined,
  action: 'ban_device',
  target: 'S-1',
  settings: { depth: [1, { two: null }] },
  undo: false,
  approved: true,
  released: false,
  basis: [
    {
      rule: 'ban',
      ruleHash: 'h',
      subjectId: 'd1',
      episodeId: 'e1',
      decisionId: 'x1',
      facts: { 'MdmData.Timestamp': '1234567890123456789' },
    },
  ],
  effect: { text: 'ban', devices: [{ id: 'd1', name: 'näme \u2028', platform: 'macOS', model: 'M' }] },
  status: 'planned',
  outcome: undefined,
  attempts: 0,
  doubtRetries: 0,
  createdAt: 10,
  sentAt: undefined,
  settledAt: undefined,
  note: undefined,
};

export const claim: Claim = {
  id: 'c1',
  episodeId: 'e1',
  rule: 'ban',
  subjectId: 'd1',
  action: 'ban_device',
  target: 'S-1',
  intentId: 'i1',
  status: 'standing',
  openedAt: 20,
  endedAt: undefined,
};

export const decision: Decision = {
  id: 'x1',
  rule: 'ban',
  ruleHash: 'h',
  subject: { kind: 'device', id: 'd1' },
  subjectName: 'a name',
  verdict: 'match',
  since: 1,
  decision: 'act',
  reason: 'rule_matches',
  reasonText: 'the rule matches',
  action: 'ban_device',
  target: 'S-1',
  mode: 'enforce',
  cappedBy: 'run',
  facts: { 'MdmData.Timestamp': '1234567890123456789' },
  flip: { verdict: 'no_match', changes: [{ fact: 'MdmData.Timestamp', from: '1234567890123456789', to: undefined }] },
  effect: intent.effect,
  episodeId: 'e1',
  intentId: 'i1',
  outcome: undefined,
  outcomeText: undefined,
};

export const plan: Plan = {
  id: 'p1',
  digest: 'digest',
  runId: 'r1',
  mode: 'enforce',
  status: 'pending',
  intents: [],
  createdAt: 30,
  expiresAt: START_MS + 86_400_000,
  decidedAt: undefined,
  decidedBy: undefined,
  decidedReason: undefined,
};

export const run: Omit<Run, 'seq'> = {
  id: 'r1',
  mode: 'enforce',
  daemonMode: 'enforce',
  trigger: 'command',
  rules: ['ban'],
  ruleSetHash: 'set',
  startedAt: 5,
  finishedAt: undefined,
  status: 'running',
  error: undefined,
  demo: false,
};

export function commitOf(fields: Partial<RunCommit> = {}): RunCommit {
  const tally = { rule: 'ban', match: 1, no_match: 0, unknown: 0, error: 0, missing: {}, examples: [] };
  return {
    runId: 'r1',
    findings: {
      snapshot: { id: 's1', nowMs: 5, sources: {} as RunCommit['findings']['snapshot']['sources'] },
      tallies: [{ ...tally, mode: 'enforce', hash: 'h', title: 'Ban', judged: true }],
      planDigest: 'digest',
    },
    baselines: [],
    movements: [],
    episodes: [],
    claims: [],
    decisions: [],
    endedDecisions: [],
    intents: [],
    plan: undefined,
    carriedPlans: [],
    supersededPlans: [],
    notes: [],
    ...fields,
  };
}

export const event: TrustEvent = {
  id: 'v1',
  createdAtMs: 100,
  deviceId: 'd1',
  serialNumber: undefined,
  email: undefined,
  serviceId: undefined,
  serviceName: undefined,
  type: 'Access',
  subType: '',
  action: '',
  severity: 'ERROR',
  result: '',
  body: { n: 1 },
};
