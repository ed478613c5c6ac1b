// Builds what a look that keeps nothing needs, over other rules than the active set or at one subject: rules, the API, and the
// database for reading alone. It needs no lock, so that it can be had beside whoever writes. In: a checked configuration. Out: an engine that cannot write, closed by `close`.
import { CheckpointFile, checkpointFileOf } from '../audit/checkpoint-file.ts';
import { isOlder } from '../audit/checkpointer.ts';
import type { Config } from '../config/config.ts';
import type { ExplainDeps } from '../explain/explain-subject.ts';
import type { WhatIfEngine } from '../run/what-if.ts';
import { boundElsewhere } from '../store/sqlite-store.ts';
import { takeWriterLock } from '../store/writer-lock.ts';
import { bootId } from '../system/clock.ts';
import { steadyTime } from '../system/steady-time.ts';
import { bindingOf, composeReader, connect } from './compose.ts';
import { Closing, loadParts } from './parts.ts';

export interface WhatIfComposition {
  engine: WhatIfEngine;
  explaining(): ExplainDeps;
  /** Aborting it ends what is being read. */
  stopping: AbortController;
  close(): Promise<void>;
}

/**
 * Errors: AppError `rules`, `usage` for a chosen rule that is not among them, `not_found` without a database, `store_failed`,
 * `bound_elsewhere`; `store_locked` when the embedded console is in the hands of a daemon or another command.
 */
export async function composeWhatIf(config: Config, chosen: readonly string[] = []): Promise<WhatIfComposition> {
  const { rules, common } = await loadParts(config, chosen);
  const { clock, log } = common;
  const closing = new Closing();
  try {
    const reader = composeReader(config.db);
    closing.add(() => reader.close());
    const bound = await reader.address();
    if (bound !== undefined && bound !== bindingOf(config)) throw boundElsewhere(config.db, bound, bindingOf(config));
    // The line outside first: a writer beside this one commits before it publishes.
    const last = new CheckpointFile(checkpointFileOf(config.db)).lastWhole();
    const isRestored = last !== undefined && (await isOlder(reader, last));
    if (config.api === undefined) {
      // Whoever holds the lock has started the embedded console; a second one would take its key away.
      const lock = takeWriterLock(config.db);
      closing.add(() => lock.release());
    }
    const stopping = new AbortController();
    const { api, end } = await connect(config, clock, log, stopping.signal);
    closing.add(end);
    const engine: WhatIfEngine = {
      ...common,
      api,
      reader,
      steady: steadyTime(clock, bootId(), await reader.clockAgreement()),
      // What a run would be capped to, over a database that has forgotten what was done since.
      daemonMode: isRestored ? 'dry-run' : (config.modeCap ?? 'enforce'),
      signal: stopping.signal,
    };
    const explaining = () => ({ ...engine, reader, rules: rules.all() });
    return { engine, explaining, stopping, close: closing.close };
  } catch (error) {
    await closing.close();
    throw error;
  }
}
