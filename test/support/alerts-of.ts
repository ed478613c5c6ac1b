// support: the alerts of an engine on the platform in memory, for one webhook that nobody delivers to.

import { EXEMPTIONS_DEFAULT } from '../../src/engine/run/run-commit.ts';
import { type AlertDeps, Alerts } from '../../src/runtime/notify/alerts.ts';
import type { OnPlatform } from './engine-on-platform.ts';

export function alertsOf(
  { store, engine, clock }: OnPlatform,
  to: readonly string[] = ['ops'],
  more: Pick<AlertDeps, 'quietHours' | 'recordedSilenceMs'> = {},
): Alerts {
  const outbox = store.outbox();
  return new Alerts({ reader: store, outbox, ids: engine.ids, clock, to, exemptions: EXEMPTIONS_DEFAULT, ...more });
}
