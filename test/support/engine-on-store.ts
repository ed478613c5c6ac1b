// support: the real cycle on any store, on the platform in memory. In: an opened store. Out: an engine of its own whose ids, times and answers
// are those of every other one that is driven the same way.

import type { Mode } from '../../src/domain/rule.ts';
import type { RunRecord } from '../../src/domain/store.ts';
import { ACTIONS } from '../../src/engine/act/actions.ts';
import { runCycle } from '../../src/engine/cycle.ts';
import type { Engine } from '../../src/engine/run/engine.ts';
import type { LoadedRule } from '../../src/rules/language/loaded-rule.ts';
import { quietTime, steadyTime } from '../../src/runtime/system/clock.ts';
import { activate, countingIds, settingsDefault, silent } from './engine-on-platform.ts';
import { Platform } from './platform.ts';
import { PRINT_KEY } from './print-key.ts';
import type { OpenedStore } from './stores.ts';

export interface OnStore extends OpenedStore {
  engine: Engine;
  platform: Platform;
  run(mode: Mode): Promise<RunRecord>;
}

export async function engineOnStore(opened: OpenedStore, rules: readonly LoadedRule[]): Promise<OnStore> {
  const { store, clock } = opened;
  const platform = new Platform(clock);
  const active = activate(rules);
  const settings = settingsDefault();
  const steady = steadyTime(clock, clock.boot, await store.clockAgreement());
  await store.keepClockAgreement(steady.agreement());
  platform.beginMeasuring();
  const engine: Engine = {
    api: platform,
    store,
    clock,
    steady,
    quiet: quietTime(settings.quietMs, platform, steady, await store.keptLatency()),
    ids: countingIds(),
    log: silent,
    actions: ACTIONS,
    active: () => active,
    daemonMode: 'enforce',
    settings,
    demo: false,
    printKey: PRINT_KEY,
    bindTo: platform.address,
    signal: new AbortController().signal,
    feed: { primed: new WeakSet(), triedMs: 0 },
  };
  const run = async (mode: Mode) => {
    const { id } = await runCycle(engine, { mode, trigger: 'command', rules: undefined, waitForDoubts: false });
    return (await store.run(id)) as RunRecord;
  };
  return { ...opened, engine, platform, run };
}
