// The replays that people ask the page for: the command `replay` in a process of its own, one at a time, bounded in time. In: what is asked for.
// Out: the one under way or the last one, in memory. It reads files beside the database; no run waits for it.

import type { Composition } from '../compose/compose.ts';
import { databaseFlags } from '../config/database.ts';
import type { Database } from '../domain/database.ts';
import { AppError, lineOf } from '../domain/errors.ts';
import { givenTime } from '../domain/given-time.ts';
import type { Clock } from '../domain/ports.ts';
import type { AskedReplay, ReplayBeside, ReplaysBeside } from '../domain/replay-beside.ts';
import { endOf, faultOf, runBeside } from './own-process.ts';

/** A month of 50 rules over 100,000 devices takes minutes. */
const WITHIN_MS = 30 * 60_000;
/** Characters: more is no page that a person reads. */
const FOUND_MAX = 16_000_000;

export function replaysOf({ config, clock, ending }: Composition): Replays {
  return new Replays({
    database: config.database,
    rulesDir: config.rulesDir,
    run: runBeside,
    clock,
    ending: ending.asked,
  });
}

export class Replays implements ReplaysBeside {
  private last: ReplayBeside | undefined;

  constructor(
    private readonly parts: {
      database: Database;
      rulesDir: string;
      run: typeof runBeside;
      clock: Pick<Clock, 'nowMs'>;
      /** Aborted when the process is to end. */
      ending: AbortSignal;
    },
  ) {}

  begin(asked: AskedReplay, by: string): void {
    const startedAt = this.parts.clock.nowMs();
    givenTime(asked.since, 'since', startedAt, 'before');
    if (this.last && this.last.finishedAt === undefined)
      throw new AppError('busy', 'a replay is under way: wait until it ends', { retryAfterMs: 10_000 });
    const begun: ReplayBeside = { asked, by, startedAt, finishedAt: undefined, found: undefined, fault: undefined };
    this.last = begun;
    void this.made(asked).then((end) => {
      this.last = { ...begun, ...end, finishedAt: this.parts.clock.nowMs() };
    });
  }

  current(): ReplayBeside | undefined {
    return this.last;
  }

  /** Never rejects. */
  private async made({ way, since, rule }: AskedReplay): Promise<Pick<ReplayBeside, 'found' | 'fault'>> {
    const { database, rulesDir, run, ending } = this.parts;
    const args = ['replay', ...databaseFlags(database), '--format', 'json', `--since=${since}`];
    if (way === 'what_if') args.push(`--rules=${rulesDir}`);
    if (rule !== undefined) args.push(`--rule=${rule}`);
    const late = AbortSignal.timeout(WITHIN_MS);
    try {
      const { code, out, err } = await run(args, AbortSignal.any([ending, late]), { outMax: FOUND_MAX });
      const found = foundIn(out);
      if (found) return { found, fault: undefined };
      if (late.aborted)
        return failed(`it was broken off after ${WITHIN_MS / 60_000} minutes: ask for less time, or one rule`);
      if (out.length >= FOUND_MAX) return failed('it found more than a page can show: `trustward replay` prints it');
      return failed(faultOf(err) ?? endOf(code));
    } catch (error) {
      return failed(lineOf(error));
    }
  }
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
