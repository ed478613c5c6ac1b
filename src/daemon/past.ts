// The daemon's part of the past for the endpoint: what was so of a subject at an earlier time, and its line of time. In: a composition. Out: ports,
// which read the history beside the database and never the platform. Without a history there are none of these.
import { existsSync } from 'node:fs';
import { bindingOf, type Composition } from '../compose/compose.ts';
import { composeHistory, newestRunOf } from '../compose/history.ts';
import { AppError } from '../domain/errors.ts';
import { timelineOf } from '../explain/as-of/timeline.ts';
import { whyAt } from '../explain/as-of/why-at.ts';
import type { HttpDeps } from '../http/index.ts';

export function pastPorts({ config, engine, clock }: Composition): Required<Pick<HttpDeps, 'whyAt' | 'timeline'>> {
  const isKept = () => existsSync(`${config.database.beside}.history`);
  const reader = engine.store;
  const history = composeHistory(config.database, bindingOf(config), () => newestRunOf(reader));
  return {
    whyAt: async (of, atMs) => {
      if (!isKept()) throw new AppError('not_found', 'there is no history: nothing was recorded of any earlier time');
      return whyAt({ history, reader, actions: engine.actions, clock }, of, atMs);
    },
    timeline: (subject, asked) =>
      timelineOf({ reader, history: isKept() ? history : undefined, clock }, subject, asked),
  };
}
