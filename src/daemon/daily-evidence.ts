// The daemon's evidence of the loaded rules: once a day, and soon after a rule changed, by the command `rules evidence` in a process of its own. In:
// what is kept, the loaded rules. Out: kept evidence. A failure is logged and changes nothing else: rules keep the evidence that they have.
import type { Composition } from '../compose/compose.ts';
import { databaseFlags } from '../config/database.ts';
import type { Database } from '../domain/database.ts';
import { AppError, lineOf } from '../domain/errors.ts';
import type { EvidenceReader } from '../domain/evidence.ts';
import type { Clock, Log } from '../domain/ports.ts';
import type { LoadedRule } from '../evaluate/index.ts';
import { contentOf } from '../history/evidence/content.ts';
import { evidenceFolder, evidenceReader } from '../history/evidence/evidence-files.ts';
import { endOf, faultOf, runBeside } from './own-process.ts';

export function keptEvidence({ database, evidence }: Composition['config']): EvidenceReader {
  return evidenceReader(evidenceFolder(database.beside), evidence);
}

export type MakeEvidence = (signal: AbortSignal) => Promise<void>;

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
/** A daemon that has just begun has other work. */
const FIRST_AFTER_MS = 10 * MINUTE_MS;
/** For a rule that has none, and after a failure. */
const AGAIN_AFTER_MS = 60 * MINUTE_MS;
const MADE_WITHIN_MS = 3 * 60 * MINUTE_MS;

export function dailyEvidenceOf({ config, rules, clock, log }: Composition): DailyEvidence {
  const kept = keptEvidence(config);
  const make = makeEvidence(config.database, config.rulesDir);
  return new DailyEvidence({ kept, rules: () => rules.all(), make, clock, log });
}

/** Killed at once when the signal aborts. Errors: AppError `internal` with the last words of the process. */
function makeEvidence(database: Database, rulesDir: string): MakeEvidence {
  const args = ['rules', 'evidence', ...databaseFlags(database), '--rules', rulesDir, '--format', 'json'];
  return async (signal) => {
    const { code, err } = await runBeside(args, signal, { outMax: 0 });
    if (code !== 0) throw new AppError('internal', faultOf(err) ?? endOf(code));
  };
}

export class DailyEvidence {
  private readonly beganAtMs: number;
  private triedAtMs: number | undefined;

  constructor(
    private readonly parts: {
      kept: EvidenceReader;
      rules(): readonly LoadedRule[];
      make: MakeEvidence;
      clock: Clock;
      log: Log;
    },
  ) {
    this.beganAtMs = parts.clock.nowMs();
  }

  /** Until `signal` aborts, which breaks off what is being made. Never rejects. */
  async untilEnding(signal: AbortSignal): Promise<void> {
    const { clock } = this.parts;
    while (!signal.aborted) {
      if (this.isDue()) await this.attempt(signal);
      await clock.sleep(MINUTE_MS, signal).catch(() => {}); // being stopped
    }
  }

  private isDue(): boolean {
    const { kept, rules, clock } = this.parts;
    if (!kept.isKept()) return false;
    const nowMs = clock.nowMs();
    const since = this.triedAtMs ?? this.beganAtMs;
    // A clock that was set back must not put it off for longer.
    if (Math.abs(nowMs - since) < (this.triedAtMs === undefined ? FIRST_AFTER_MS : AGAIN_AFTER_MS)) return false;
    return rules().some((rule) => {
      const evidence = kept.of(rule.hash);
      if (evidence === undefined || evidence.tests.hash !== contentOf(rule).tests) return true;
      return Math.abs(nowMs - evidence.madeAtMs) >= DAY_MS;
    });
  }

  private async attempt(signal: AbortSignal): Promise<void> {
    const { make, clock, log } = this.parts;
    this.triedAtMs = clock.nowMs();
    const limit = AbortSignal.timeout(MADE_WITHIN_MS);
    try {
      await make(AbortSignal.any([signal, limit]));
      log.info({}, 'evidence of the rules was made');
    } catch (error) {
      if (signal.aborted) return;
      const text = limit.aborted ? 'it did not end in time' : lineOf(error);
      log.warn({}, `no evidence of the rules was made: ${text}; it is tried again in an hour`);
    }
  }
}
