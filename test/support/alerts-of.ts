// support: the alerts of an engine on the platform in memory, told to one webhook that nobody delivers to.

import { Alerts } from '../../src/notify/alerts.ts';
import { EXEMPTIONS_DEFAULT } from '../../src/run/operator-commands.ts';
import type { OnPlatform } from './engine-on-platform.ts';

export function alertsOf({ store, engine, clock }: OnPlatform, to: readonly string[] = ['ops']): Alerts {
  const outbox = store.outbox();
  return new Alerts({ reader: store, outbox, ids: engine.ids, clock, to, exemptions: EXEMPTIONS_DEFAULT });
}
