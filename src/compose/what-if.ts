// Builds what a read-only view needs, over other rules than the active set or of one subject: rules, the API, and the
// database for reading. It needs no lock, so it works beside any writer. In: a checked configuration. Out: an engine
// that cannot write, closed by `close`.
import { restoredWhy } from '../audit/sources.ts';
import type { Config } from '../config/config.ts';
import { demandSqlite } from '../domain/database.ts';
import type { Progress } from '../domain/progress.ts';
import type { WhyDeps } from '../explain/why.ts';
import type { WhatIfEngine } from '../run/what-if.ts';
import { boundElsewhere } from '../store/bound-to.ts';
import { takeWriterLock } from '../store/writer-lock.ts';
import { bootId } from '../system/clock.ts';
import { systemIds } from '../system/ids.ts';
import { quietTime } from '../system/quiet-time.ts';
import { newPrintKey } from '../system/secrets.ts';
import { steadyTime } from '../system/steady-time.ts';
import { Closing } from './closing.ts';
import { bindingOf } from './compose.ts';
import { connect } from './connection.ts';
import { composeLookBack } from './look-back.ts';
import { loadParts } from './parts.ts';
import { composeClock, composeReader } from './reader.ts';

export interface WhatIfComposition {
  engine: WhatIfEngine;
  /** Which rules are active, the caller knows. */
  explaining(): Omit<WhyDeps, 'isWhatIf'>;
  /** Aborting it ends the reading. */
  stopping: AbortController;
  close(): Promise<void>;
}

/**
 * Errors: AppError `rules`, `usage` for a chosen rule that is not among them, `not_found` without a database,
 * `store_failed`, `bound_elsewhere`; `store_locked` when a daemon or another command holds the embedded console.
 */
export async function composeWhatIf(
  config: Config,
  chosen: readonly string[] = [],
  progress?: Progress,
): Promise<WhatIfComposition> {
  const { rules, common } = await loadParts(config, chosen);
  const { log } = common;
  const clock = await composeClock(config.database);
  const closing = new Closing();
  try {
    const reader = await composeReader(config.database);
    closing.add(() => reader.close());
    const bound = await reader.address();
    if (bound !== undefined && bound !== bindingOf(config)) throw boundElsewhere(config.db, bound, bindingOf(config));
    const isRestored = (await restoredWhy(config.database.beside, reader)) !== undefined;
    if (config.api === undefined) {
      // The holder of the lock has started the embedded console; a second one would take its key away.
      const lock = takeWriterLock(demandSqlite(config.database, 'give a SQLite file').file);
      closing.add(() => lock.release());
    }
    const stopping = new AbortController();
    const { api, end } = await connect(config, clock, log, stopping.signal);
    closing.add(end);
    const steady = steadyTime(clock, bootId(), await reader.clockAgreement());
    const engine: WhatIfEngine = {
      ...common,
      clock,
      ids: systemIds(clock),
      api,
      reader,
      printKey: (await reader.printKey()) ?? newPrintKey(),
      steady,
      lookBack: composeLookBack(config, bindingOf(config)),
      quiet: quietTime(config.timing.quietMs, api, steady, await reader.keptLatency()),
      // The cap of a run over a database that has lost what was done since.
      daemonMode: isRestored ? 'dry-run' : (config.modeCap ?? 'enforce'),
      signal: stopping.signal,
      progress,
    };
    const explaining = () => ({ ...engine, reader, rules: rules.all() });
    return { engine, explaining, stopping, close: closing.close };
  } catch (error) {
    await closing.close();
    throw error;
  }
}
