// harness: what is left after a daemon was killed again and again: the console's true effects and writes against the audit.
// In: a killed life. Out: figures, and what is wrong in words.

import type { Console } from '../../src/console/console.ts';
import type { AuditEntry } from '../../src/domain/audit-entry.ts';
import { sqliteDatabase } from '../../src/domain/database.ts';
import type { AuditReader, RecordReader } from '../../src/domain/store-ports.ts';
import { verifyChain } from '../../src/engine/audit/signing-key.ts';
import { composeReader } from '../../src/runtime/compose/reader.ts';
import type { KilledLife } from './kill-life.ts';
import { isBanned, type Troubles } from './troubles.ts';

export interface KillFigures {
  kills: number;
  /** Runs after new events that changed something. */
  watchRuns: number;
  requests: number;
  effects: number;
  lost: number;
  doubled: number;
  unaudited: number;
  unresolved: number;
  parked: number;
  confirmed: number;
  permittedRetries: number;
  /** By people, while the device still matched. */
  reversed: number;
  faults: string[];
}

interface IntentEntry {
  at: number;
  kind: string;
  intent: string;
  action: string;
  target: string;
  outcome: string | undefined;
  retry: boolean | undefined;
}

export async function checkKilled({ org, kills, troubles }: KilledLife): Promise<KillFigures> {
  const reader = await composeReader(sqliteDatabase(org.dbFile));
  try {
    return { ...(await checkRecord({ console: org.console, troubles }, reader)), kills };
  } finally {
    await reader.close();
  }
}

/** What happened to a console in truth. */
export interface Happened {
  console: Console;
  troubles: Troubles;
}

/** An organization's record against its console, when nobody acts any more. */
export async function checkRecord(
  happened: Happened,
  reader: RecordReader & AuditReader,
): Promise<Omit<KillFigures, 'kills'>> {
  const entries = await intentEntries(reader);
  const { console } = happened;
  const figures: KillFigures = {
    kills: 0,
    watchRuns: (await reader.runs(1_000_000)).filter(({ trigger }) => trigger === 'watch').length,
    requests: console.writes().length,
    effects: console.effects().filter(({ kind, via }) => via === 'api' && /^device_(un)?banned$/.test(kind)).length,
    lost: 0,
    doubled: 0,
    unaudited: 0,
    unresolved: 0,
    parked: (await reader.intents({ outcome: 'parked' })).length,
    confirmed: (await reader.intents({ outcome: 'confirmed' })).length,
    permittedRetries: entries.filter(({ kind, retry }) => kind === 'intent.sent' && retry).length,
    reversed: [...happened.troubles.values()].reduce((sum, { reversed }) => sum + reversed, 0),
    faults: [],
  };
  checkWrites(happened, entries, figures);
  checkIntents(happened, entries, figures);
  await checkEnd(happened, reader, figures);
  const chain = await verifyChain(reader.auditFrom(1));
  if (!chain.ok) figures.faults.push(`the chain is broken at ${chain.bad?.seq}: ${chain.bad?.reason}`);
  return figures;
}

/** The n-th request for a target and state has at least n entries of being sent, all committed before it arrived. */
function checkWrites({ console }: Happened, entries: readonly IntentEntry[], figures: KillFigures): void {
  const seen = new Map<string, number>();
  for (const { address, body, atMs } of console.writes()) {
    const target = /serialnumber=([^&]+)/i.exec(address)?.[1] ?? address;
    const action = body.includes('"Banned":"TRUE"') ? 'ban_device' : 'unban_device';
    const key = `${action} ${target}`;
    const count = (seen.get(key) ?? 0) + 1;
    seen.set(key, count);
    const sent = entries.filter(
      (entry) => entry.kind === 'intent.sent' && `${entry.action} ${entry.target}` === key && entry.at <= atMs,
    );
    if (sent.length >= count) continue;
    figures.unaudited += 1;
    figures.faults.push(`request ${count} for ${key} came with ${sent.length} entries before it`);
  }
}

/** One request for an intent, one more after a doubt; and no more intents than there were matches, or ends of them. */
function checkIntents({ troubles }: Happened, entries: readonly IntentEntry[], figures: KillFigures): void {
  const intents = new Map<string, IntentEntry[]>();
  for (const entry of entries) intents.set(entry.intent, [...(intents.get(entry.intent) ?? []), entry]);
  const sentIntents = new Map<string, number>();
  const doubled = (text: string) => {
    figures.doubled += 1;
    figures.faults.push(text);
  };
  for (const [id, own] of intents) {
    const sent = own.filter(({ kind }) => kind === 'intent.sent');
    const refused = own.filter(({ outcome }) => outcome === 'failed').length;
    if (sent.length === 0) continue;
    const { action, target } = sent[0] as IntentEntry;
    if (sent.length - refused > 2) doubled(`intent ${id} (${action} ${target}) was sent ${sent.length} times`);
    if (sent.filter(({ retry }) => retry).length > 1) doubled(`intent ${id} (${action} ${target}) was retried twice`);
    if (own.every(({ outcome }) => outcome === undefined || outcome === 'failed')) continue;
    sentIntents.set(`${action} ${target}`, (sentIntents.get(`${action} ${target}`) ?? 0) + 1);
  }
  for (const [serial, { begun, ended }] of troubles) {
    if ((sentIntents.get(`ban_device ${serial}`) ?? 0) > begun)
      doubled(`${serial} was banned more often than it had troubles`);
    if ((sentIntents.get(`unban_device ${serial}`) ?? 0) > ended)
      doubled(`${serial} was unbanned more often than troubles ended`);
  }
}

/**
 * Every device is in the state that its rules require, except those with a parked doubt, and those that a person unbanned and that match until
 * then: the record says so. Nothing is left half-done.
 */
async function checkEnd(
  { console, troubles }: Happened,
  reader: RecordReader & AuditReader,
  figures: KillFigures,
): Promise<void> {
  const parked = new Set((await reader.intents({ outcome: 'parked' })).map(({ target }) => target));
  const open = [...(await reader.intents({ status: 'sent' })), ...(await reader.intents({ outcome: 'unknown' }))];
  figures.unresolved = open.length;
  for (const { id, action, target } of open) figures.faults.push(`intent ${id} (${action} ${target}) is still open`);
  const refused = await leftToPeople(reader);
  for (const [serial, { id, mayMatchAgain, reversed }] of troubles) {
    const isSo = isBanned(console, id);
    if (isSo === mayMatchAgain || parked.has(serial)) continue;
    if (!isSo && reversed > 0 && refused.has(serial)) continue;
    figures.lost += 1;
    figures.faults.push(`${serial} is ${mayMatchAgain ? 'in trouble' : 'clean'} and ${isSo ? 'banned' : 'not banned'}`);
  }
}

/** Serial numbers that the last run bans no more, since a person reversed it and it has matched ever since. */
async function leftToPeople(reader: RecordReader): Promise<ReadonlySet<string>> {
  const run = await reader.latestRun();
  const decisions = run ? await reader.decisionsOfRun(run) : [];
  return new Set(decisions.filter(({ reason }) => reason === 'overridden').map(({ target }) => target));
}

/** What the audit has of intents, in its order. */
export async function intentEntries(reader: RecordReader & AuditReader): Promise<IntentEntry[]> {
  const entries: IntentEntry[] = [];
  for await (const batch of reader.auditFrom(1))
    entries.push(...batch.filter(({ kind }) => kind.startsWith('intent.')).map(entryOf));
  return entries;
}

function entryOf({ at, kind, bytes }: AuditEntry): IntentEntry {
  const { body } = JSON.parse(bytes) as { body: Omit<IntentEntry, 'at' | 'kind'> };
  return { ...body, at, kind };
}

export function killLine(all: readonly KillFigures[], seconds: number): string {
  const sum = (field: Exclude<keyof KillFigures, 'faults'>) =>
    all.reduce((total, figures) => total + figures[field], 0);
  return [
    `${sum('kills')} kills, ${sum('lost')} lost, ${sum('doubled')} doubled, ${sum('unaudited')} unaudited, ${sum('unresolved')} unresolved`,
    `${sum('watchRuns')} runs after events, ${sum('requests')} requests, ${sum('effects')} effects, ${sum('confirmed')} doubts confirmed, ${sum('parked')} parked, ${sum('permittedRetries')} permitted retries, ${sum('reversed')} reversed by people`,
    `${seconds.toFixed(0)} s`,
  ].join('; ');
}
