// commands: one operator command, wherever it runs: through the daemon's HTTP endpoint while one is active;
// otherwise here, with the writer's lock. In: the request to the endpoint, and what to do without one. Out: the same
// JSON from both, written.
import { readDatabaseAccess } from '../config/access.ts';
import type { Config } from '../config/config.ts';
import type { TokenStore } from '../domain/endpoint-token.ts';
import type { Operator, OperatorEngine } from '../operator/commands.ts';
import { showHidden } from '../report/index.ts';
import type { Engine } from '../run/engine.ts';
import { actorHere } from './actor.ts';
import { namingApi } from './api-fault.ts';
import { findDaemon } from './daemon-client.ts';
import { type CommonOptions, databaseOf, flagsOf, type Io, outputOf, write } from './io.ts';

export interface ReasonOptions extends CommonOptions {
  reason: string;
}

const FORMATS = ['text', 'json'] as const;

/** One operator command: the request to the endpoint, and what to do without one. Both return the same JSON. */
export interface OperatorCommand<T> {
  path: string;
  body: object;
  /** Needs rules and the API. */
  withEngine?(engine: Engine): Promise<T>;
  /** Needs the database only: no other setting is read, so a wrong one cannot get in the way. */
  withStore?(writing: OperatorEngine & { tokens: TokenStore }): Promise<T>;
  text(answer: T): string[];
  /** For people beside the text, on standard error: scripts read the text. */
  aside?(answer: T): string;
  exitCode?(answer: T): number;
}

/** INVARIANT: `--rules` refuses none of these, least of all a stop: no rule is judged here. */
export async function perform<T>(io: Io, options: CommonOptions, act: OperatorCommand<T>): Promise<number> {
  return written(io, options, act, async () => {
    const access = act.withStore ? readDatabaseAccess(io.env, flagsOf(options)) : await wholeConfig(io, options);
    const daemon = await findDaemon(access);
    return daemon ? (JSON.parse(await daemon.call('POST', act.path, act.body)) as T) : performHere(io, options, act);
  });
}

/** What `work` answers, in the words of the command. */
export async function written<T>(
  io: Io,
  options: CommonOptions,
  act: Pick<OperatorCommand<T>, 'text' | 'aside' | 'exitCode'>,
  work: () => Promise<T>,
): Promise<number> {
  const format = outputOf(options, FORMATS, 'text');
  const answer = await work();
  const text = format === 'json' ? JSON.stringify(answer, null, 2) : act.text(answer).map(showHidden).join('\n');
  write(io, options, text);
  if (format === 'text' && act.aside) io.err(`${showHidden(act.aside(answer))}\n`);
  return act.exitCode?.(answer) ?? 0;
}

/** Without a daemon only TRUSTWARD_MODE, when set, or the mode of the organization caps what an operator undoes. */
async function performHere<T>(io: Io, options: CommonOptions, act: OperatorCommand<T>): Promise<T> {
  const { withStore, withEngine } = act;
  if (withStore) {
    const { composeOperatorWriter } = await import('../compose/record.ts');
    const writer = await composeOperatorWriter(databaseOf(io, options));
    try {
      const { store, clock, checkpointer } = writer;
      return await withStore({ store, clock, checkpointer, tokens: store.tokens() });
    } finally {
      await writer.checkpointer.publish();
      await writer.close();
    }
  }
  const config = await wholeConfig(io, options);
  const { composeEngine } = await import('../compose/compose.ts');
  const composition = await composeEngine(config, config.modeCap ?? 'enforce', [], io.ending);
  try {
    return await namingApi(config, () => (withEngine as (engine: Engine) => Promise<T>)(composition.engine));
  } finally {
    await composition.close();
  }
}

/** Loaded only by commands that need an engine: a stop does not wait for it. */
async function wholeConfig(io: Io, options: CommonOptions): Promise<Config> {
  const { configOf } = await import('./config-of.ts');
  return configOf(io, options);
}

export function personOf({ reason }: ReasonOptions): Operator {
  return { by: actorHere(), reason };
}
