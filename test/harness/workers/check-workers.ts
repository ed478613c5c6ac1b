// harness: what is left after workers, PostgreSQL and the ways between them were tormented: each organization's record against its console, and
// every request against the fence by which it was allowed. In: a world whose workers have ended. Out: figures, and what is wrong in words.
import { composeReader } from '../../../src/compose/reader.ts';
import { composeVerification } from '../../../src/compose/record.ts';
import type { WriteRequest } from '../../../src/console/write-log.ts';
import { checkRecord, type KillFigures } from '../kill-checks.ts';
import { type Fence, readFenceLog, type Sent } from './fence-log.ts';
import type { Torment } from './nemesis.ts';
import type { WorkerLife } from './worker-lives.ts';
import { type ChaosOrganization, databaseOf, PERSON, type WorkersWorld } from './world.ts';

export interface WorkersFigures extends Omit<KillFigures, 'kills'> {
  fences: number;
  /** Takings after an actor that had not released: it was killed, paused, cut off, or lost PostgreSQL. */
  takenOver: number;
  /** Requests by a fence that was over, written by a worker that had just been paused: the documented window. */
  inWindow: number;
  /** Requests or commits by a fence that was over, by any other. */
  twoActors: number;
}

/** How long after a pause a request may still have been written within it: one that was past its comparison. */
const WINDOW_MS = 1_000;

export async function checkWorkers(
  world: WorkersWorld,
  lives: readonly WorkerLife[],
  torment: Torment,
): Promise<WorkersFigures[]> {
  const { fences, sent } = await readFenceLog(world.cluster, world.database);
  const all: WorkersFigures[] = [];
  for (const organization of world.organizations) {
    const { id } = organization;
    const own = { fences: fences.filter(({ org }) => org === id), sent: sent.filter(({ org }) => org === id) };
    all.push(await checkOne({ world, organization, lives, torment, ...own }));
  }
  return all;
}

interface Judged {
  world: WorkersWorld;
  organization: ChaosOrganization;
  lives: readonly WorkerLife[];
  torment: Torment;
  fences: Fence[];
  sent: Sent[];
}

async function checkOne(judged: Judged): Promise<WorkersFigures> {
  const { world, organization, fences } = judged;
  const { id } = organization;
  const database = databaseOf(world, id);
  const reader = await composeReader(database);
  try {
    const record = await checkRecord(organization, reader);
    const takenOver = fences.filter(({ waitMs }) => waitMs > 0).length;
    const figures = { ...record, fences: fences.length, takenOver, inWindow: 0, twoActors: 0 };
    checkCommits(judged, figures);
    checkRequests(judged, figures);
    const stop = await reader.stop();
    if (stop) figures.faults.push(`it is stopped by ${stop.by}: ${stop.reason}`);
    const left = (await reader.runs(1_000_000)).filter(({ status }) => status === 'running');
    if (left.length > 0) figures.faults.push(`${left.length} runs are still running, such as ${left[0]?.seq}`);
    const audit = await composeVerification(database, {});
    if (!audit.ok) figures.faults.push(`the audit is not whole: ${JSON.stringify(audit.bad ?? audit.tables)}`);
    return { ...figures, faults: figures.faults.map((text) => `${id}: ${text}`) };
  } finally {
    await reader.close();
  }
}

/** Each `intent.sent` was committed with a check of its fence, and never by an earlier fence than the one before it. */
function checkCommits({ sent }: Judged, figures: WorkersFigures): void {
  let last = 0;
  for (const { seq, fence = 0 } of sent) {
    if (fence === 0 || fence < last) {
      figures.twoActors += 1;
      figures.faults.push(`entry ${seq} was committed by fence ${fence || 'none'} after ${last}`);
    }
    last = Math.max(last, fence);
  }
}

function checkRequests(judged: Judged, figures: WorkersFigures): void {
  const { organization, sent, fences } = judged;
  const acted = fences.filter(({ fence }) => sent.some((one) => one.fence === fence));
  const firstSentMs = new Map(
    acted.map(({ fence }) => [
      fence,
      Math.min(...sent.filter((one) => one.fence === fence).map(({ committedMs }) => committedMs)),
    ]),
  );
  const counts = new Map<string, number>();
  for (const [number, request] of organization.console.writes().entries()) {
    const key = keyOf(request);
    const fence = fenceOf(judged, request);
    if (fence === undefined) {
      figures.unaudited += 1;
      figures.faults.push(`request ${number} by ${request.caller} came from a process that never could act`);
      continue;
    }
    checkOverFence(judged, request, fence, firstSentMs, figures);
    const count = (counts.get(`${fence} ${key}`) ?? 0) + 1;
    counts.set(`${fence} ${key}`, count);
    // The console's clock has whole milliseconds, and the commit's has microseconds.
    const before = sent.filter(
      (one) => one.fence === fence && `${one.action} ${one.target}` === key && one.committedMs < request.atMs + 1,
    );
    if (before.length >= count) continue;
    figures.unaudited += 1;
    figures.faults.push(
      `request ${count} of fence ${fence} for ${key} came after ${before.length} commits of being sent`,
    );
  }
}

/** INVARIANT: once a later fence has committed that it sends, no request of an earlier one arrives. */
function checkOverFence(
  { lives }: Judged,
  { caller, atMs }: WriteRequest,
  fence: number,
  firstSentMs: ReadonlyMap<number, number>,
  figures: WorkersFigures,
): void {
  const later = [...firstSentMs].find(([other, sentMs]) => other > fence && sentMs <= atMs);
  if (!later) return;
  const life = lives.find(({ name }) => name === caller);
  const wasPaused = life?.pauses.some(({ toMs = 0 }) => atMs >= toMs && atMs <= toMs + WINDOW_MS);
  if (wasPaused) figures.inWindow += 1;
  else {
    figures.twoActors += 1;
    figures.faults.push(
      `a request of fence ${fence} by ${caller} arrived at ${atMs}, after fence ${later[0]} had sent`,
    );
  }
}

function keyOf({ address, body }: WriteRequest): string {
  const target = /serialnumber=([^&]+)/i.exec(address)?.[1] ?? address;
  return `${body.includes('"Banned":"TRUE"') ? 'ban_device' : 'unban_device'} ${target}`;
}

/** The last one by which the process had begun to act by then. */
function fenceOf({ fences, lives, torment }: Judged, { caller, atMs }: WriteRequest): number | undefined {
  const pids =
    caller === PERSON ? torment.personPids : new Set(lives.filter(({ name }) => name === caller).map(({ pid }) => pid));
  return fences.findLast(({ pid, firstCommitMs = Infinity }) => pids.has(pid) && firstCommitMs < atMs + 1)?.fence;
}
