// harness: what is left after workers, PostgreSQL and the ways between them were tormented: each organization's record against its console, and
// every request against the fence by which it was allowed. In: a world whose workers have ended. Out: figures, and what is wrong in words.

import { composeVerification } from '../../../src/runtime/compose/opened.ts';
import { composeReader } from '../../../src/runtime/compose/reader.ts';
import { checkRecord, type KillFigures } from '../kill-checks.ts';
import { checkFences, type FencedRequests, type FenceFigures } from './fence-checks.ts';
import { type Fence, readFenceLog, type Sent } from './fence-log.ts';
import type { Torment } from './nemesis.ts';
import type { WorkerLife } from './worker-lives.ts';
import { type ChaosOrganization, databaseOf, PERSON, type WorkersWorld } from './world.ts';

export interface WorkersFigures extends Omit<KillFigures, 'kills'>, FenceFigures {
  fences: number;
  /** Takings after an actor that had not released: it was killed, paused, cut off, or lost PostgreSQL. */
  takenOver: number;
}

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
    const fenced = checkFences({ ...judged, writes: organization.console.writes(), callers: callersOf(judged) });
    const figures = {
      ...{ ...record, ...fenced, fences: fences.length, takenOver },
      unaudited: Math.max(record.unaudited, fenced.unaudited),
      faults: [...record.faults, ...fenced.faults],
    };
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

function callersOf({ lives, torment }: Judged): FencedRequests['callers'] {
  return new Map([
    [PERSON, { pids: torment.personPids, pauses: [] }],
    ...lives.map(({ name, pid, pauses }) => [name, { pids: new Set([pid]), pauses }] as const),
  ]);
}
