// The replays that people ask the page for: the command `replay` in a process of its own, one at a time, bounded in time. In: what is asked for.
// Out: the one under way or the last one, in memory or at a keeper that several processes share. It reads files beside the database; no run waits for it.

import type { Composition } from '../compose/compose.ts';
import { databaseFlags } from '../config/database.ts';
import type { Database } from '../domain/database.ts';
import { AppError, lineOf } from '../domain/errors.ts';
import { givenTime } from '../domain/given-time.ts';
import type { Clock, Log } from '../domain/ports.ts';
import {
  type AskedReplay,
  NOTE,
  REPLAY_WITHIN_MS,
  type ReplayBeside,
  type ReplayKeeper,
  type ReplaysBeside,
} from '../domain/replay-beside.ts';
import { folderNames } from '../rule-set/rule-folders.ts';
import { endOf, faultOf, runBeside } from './own-process.ts';

/** Characters: more is no page that a person reads. */
const FOUND_MAX = 16_000_000;

export function replaysOf(
  { config, clock, log, ending }: Composition,
  keeper: ReplayKeeper = new ReplayInMemory(),
): Replays {
  return new Replays({
    database: config.database,
    rulesDir: config.rulesDir,
    run: runBeside,
    ...{ keeper, clock, log },
    ending: ending.asked,
  });
}

export class Replays implements ReplaysBeside {
  constructor(
    private readonly parts: {
      database: Database;
      rulesDir: string;
      run: typeof runBeside;
      keeper: ReplayKeeper;
      clock: Pick<Clock, 'nowMs'>;
      log: Pick<Log, 'warn'>;
      /** Aborted when the process is to end. */
      ending: AbortSignal;
    },
  ) {}

  async begin(asked: AskedReplay, by: string): Promise<void> {
    const { clock, keeper, log } = this.parts;
    const startedAt = clock.nowMs();
    if (givenTime(asked.since, 'since', startedAt, 'before') >= startedAt)
      throw new AppError('usage', `since \`${asked.since}\`: expected a time in the past`);
    const begun: ReplayBeside = { asked, by, startedAt, finishedAt: undefined, found: undefined, fault: undefined };
    if (!(await keeper.begin(begun)))
      throw new AppError('busy', 'a replay is under way: wait until it ends', { retryAfterMs: 10_000 });
    const lost = (error: unknown) => log.warn({}, `what a replay found could not be kept: ${lineOf(error)}`);
    let last = begun;
    let kept = Promise.resolve();
    const said = (err: string) => {
      kept = kept
        .then(() => this.noted(last, notesIn(err)))
        .then((now) => {
          last = now;
        }, lost);
    };
    void this.made(asked, said)
      .then(async (end) => {
        await kept;
        await keeper.end(last, { ...last, ...end, finishedAt: clock.nowMs() });
      })
      .catch(lost);
  }

  current(): Promise<ReplayBeside | undefined> {
    return this.parts.keeper.last();
  }

  private async noted(last: ReplayBeside, notes: readonly string[]): Promise<ReplayBeside> {
    if (notes.length === (last.notes?.length ?? 0)) return last;
    const now = { ...last, notes };
    await this.parts.keeper.goesOn(last, now);
    return now;
  }

  /** Never rejects. */
  private async made(
    { way, since, rule }: AskedReplay,
    said: (err: string) => void,
  ): Promise<Pick<ReplayBeside, 'found' | 'fault'>> {
    const { database, rulesDir, run, ending } = this.parts;
    const isPostgres = database.kind === 'postgres';
    const args = ['replay', ...databaseFlags(database), '--format', 'json', `--since=${since}`];
    if (way === 'what_if') args.push(`--rules=${rulesDir}`);
    if (rule !== undefined) args.push(`--rule=${rule}`);
    const late = AbortSignal.timeout(REPLAY_WITHIN_MS);
    try {
      const { code, out, err } = await run(args, AbortSignal.any([ending, late]), {
        outMax: FOUND_MAX,
        isPostgres,
        said,
      });
      const found = foundIn(out);
      // An endpoint answers for workers of other machines: paths of them are of no use there.
      const names = isPostgres && way === 'what_if' ? { rulesDir: folderNames(rulesDir) } : undefined;
      if (found) return { found: { ...found, ...names }, fault: undefined };
      if (late.aborted)
        return failed(`it was broken off after ${REPLAY_WITHIN_MS / 60_000} minutes: ask for less time, or one rule`);
      if (out.length >= FOUND_MAX) return failed('it found more than a page can show: `trustward replay` prints it');
      return failed(faultOf(err) ?? endOf(code));
    } catch (error) {
      return failed(lineOf(error));
    }
  }
}

/** Of one process: a restart forgets it. */
export class ReplayInMemory implements ReplayKeeper {
  private kept: ReplayBeside | undefined;

  async begin(replay: ReplayBeside): Promise<boolean> {
    if (this.kept && this.kept.finishedAt === undefined) return false;
    this.kept = replay;
    return true;
  }

  async goesOn(before: ReplayBeside, now: ReplayBeside): Promise<void> {
    await this.end(before, now);
  }

  async end(begun: ReplayBeside, ended: ReplayBeside): Promise<void> {
    if (this.kept === begun) this.kept = ended;
  }

  async last(): Promise<ReplayBeside | undefined> {
    return this.kept;
  }
}

/** Whole lines alone. */
function notesIn(err: string): string[] {
  const lines = err.split('\n').slice(0, -1);
  return lines.filter((line) => line.startsWith(NOTE)).map((line) => line.slice(NOTE.length));
}

function failed(fault: string): Pick<ReplayBeside, 'found' | 'fault'> {
  return { found: undefined, fault };
}

/** Exit code 1 has a result, too, when a decision differs. */
function foundIn(text: string): object | undefined {
  try {
    return JSON.parse(text) as object;
  } catch {
    return undefined;
  }
}
