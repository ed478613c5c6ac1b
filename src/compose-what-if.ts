// Builds what a look that keeps nothing needs, over other rules than the active set or at one subject: rules, the API, and the
// database for reading alone. It needs no lock, so that it can be had beside whoever writes. In: a checked configuration. Out: an engine that cannot write, closed by `close`.
import { realpathSync } from 'node:fs';
import { actionsWith } from './act/actions.ts';
import { bindingOf, composeReader, connect, settingsOf } from './compose.ts';
import type { Config } from './config.ts';
import { demandActive } from './cycle/engine.ts';
import type { ExplainDeps } from './cycle/explain-subject.ts';
import type { WhatIfEngine } from './cycle/what-if.ts';
import { RuleHolder } from './rule-holder.ts';
import { boundElsewhere } from './store/sqlite-store.ts';
import { takeWriterLock } from './store/writer-lock.ts';
import { bootId, systemClock } from './system/clock.ts';
import { systemIds } from './system/ids.ts';
import { systemLog } from './system/log.ts';
import { steadyTime } from './system/steady-time.ts';

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
  const clock = systemClock;
  const log = systemLog({ level: config.logLevel, form: config.logForm });
  const actions = actionsWith([...config.notify.webhooks.keys()]);
  const rules = new RuleHolder(config.rulesDir, actions, log);
  await rules.load();
  demandActive(rules.active(), chosen);
  const closing: (() => Promise<void> | void)[] = [];
  const close = async () => {
    for (const end of closing.reverse()) await end();
    closing.length = 0;
  };
  try {
    const reader = composeReader(config.db);
    closing.push(() => reader.close());
    const bound = await reader.address();
    if (bound !== undefined && bound !== bindingOf(config)) throw boundElsewhere(config.db, bound, bindingOf(config));
    if (config.api === undefined) {
      // Whoever holds the lock has started the embedded console; a second one would take its key away.
      const lock = takeWriterLock(config.db);
      closing.push(() => lock.release());
    }
    const stopping = new AbortController();
    const { api, end } = await connect(config, clock, log, stopping.signal);
    closing.push(end);
    const engine: WhatIfEngine = {
      api,
      reader,
      clock,
      steady: steadyTime(clock, bootId(), await reader.clockAgreement()),
      ids: systemIds(clock),
      log,
      actions,
      active: () => rules.active(),
      rulesDir: realpathSync(config.rulesDir),
      daemonMode: config.modeCap ?? 'enforce',
      settings: settingsOf(config),
      demo: config.api === undefined,
      signal: stopping.signal,
      feed: { primed: new WeakSet(), triedMs: 0 },
    };
    const explaining = () => ({ ...engine, rules: rules.all() });
    return { engine, explaining, stopping, close };
  } catch (error) {
    await close();
    throw error;
  }
}
