// cli: the operations as a command reaches them: by the daemon of this database while one runs, otherwise by an engine of this process. A command holds
// the port, and does not know which of the two it got. In: options. Out: the port; an operation with its words.
import { COMMANDS, type OptionWords } from '../../contract/commands.ts';
import { demandReference, type Entry, partsOf } from '../../contract/operation.ts';
import {
  OPERATIONS,
  type OperationId,
  type Operations,
  type Output,
  operationsWith,
  type Parsed,
} from '../../contract/table.ts';
import { type Database, databaseName } from '../../domain/database.ts';
import { AppError } from '../../domain/errors.ts';
import type { Progress } from '../../domain/replay.ts';
import { leastMode } from '../../domain/rule.ts';
import type { Config } from '../../runtime/config/config.ts';
import { readDatabaseAccess } from '../../runtime/config/name-reader.ts';
import type { ActingId, STEERING } from '../../runtime/operations/acting.ts';
import type { ReadingId } from '../../runtime/operations/reading.ts';
import { statusLine } from '../../runtime/system/process.ts';
import { showHidden } from '../report/fact-text.ts';
import { evidenceOf, remoteOf, withSettings } from './config-of.ts';
import { actorHere, type DaemonClient, findDaemon, isOther, namingApi } from './daemon-client.ts';
import { type CommonOptions, databaseOf, flagsOf, type Io, leaveOutRules, outputOf, write } from './io.ts';

/** Errors of all: those of the operation, wherever it is done; AppError `usage` in which a member is called as its option is. */
export function operations(io: Io, options: CommonOptions): Operations {
  return operationsWith(async (id, parsed, input) => {
    const remote = await remoteOf(io, options);
    if (remote) return remote[id](input as never) as never;
    const { needs }: Entry = OPERATIONS[id];
    if (needs === 'record') return reads(io, options, id as ReadingId, parsed as never) as never;
    // Without rules and the API no other setting is read, so a wrong one cannot get in the way: least of all of a stop.
    if (needs === 'engine') await demandMade(io, options);
    const config = needs === 'database' ? undefined : await wholeConfig(io, options);
    const daemon = await findDaemon(config ?? readDatabaseAccess(io.env, flagsOf(options)), options);
    if (config && IS_OF_RULES.has(id)) await demandOwnRules(io, config, options, daemon);
    if (!daemon) {
      // Of the environment alone: a mistake in a file stands in nobody's way.
      if (config?.requiresReference ?? io.env.TRUSTWARD_REQUIRE_REFERENCE?.trim() === '1')
        demandReference(OPERATIONS[id], input as object);
      return config ? acts(io, config, id, parsed) : steers(io, options, id as never, parsed as never);
    }
    const { remoteOperations } = await import('../../contract/client.ts');
    return remoteOperations(daemon)[id](input as never) as never;
  }, spelledAs);
}

// Whether `--rules` names other rules than the active set: then a run over them is a what-if.

/** The folder of the active rules, and where that comes from. */
export interface ActiveFolder {
  dir: string;
  origin: string;
}

/**
 * The active folder when `--rules` names another one. The active rules are those of the running daemon; without one,
 * those that TRUSTWARD_RULES names, otherwise those of the last run. A database without a run has no active rules yet:
 * any given folder becomes active.
 */
export async function otherThanActive(
  io: Io,
  config: Config,
  options: CommonOptions,
  daemon: DaemonClient | undefined,
): Promise<ActiveFolder | undefined> {
  const { rules } = options;
  if (rules === undefined) return undefined;
  const active = daemon
    ? { dir: daemon.rulesDir ?? '', origin: 'the daemon has' }
    : await withoutDaemon(config, (await withSettings(io, options)).env.TRUSTWARD_RULES?.trim());
  const { realFolders } = await import('../../rules/active/rule-holder.ts');
  if (active === undefined || realFolders(active.dir) === realFolders(rules)) return undefined;
  leaveOutRules();
  return active;
}

async function withoutDaemon(config: Config, named: string | undefined): Promise<ActiveFolder | undefined> {
  // Of one that has an older version, the run that follows reports what is wrong with it.
  const { readIfAny } = await import('../../runtime/compose/reader.ts');
  const last = await readIfAny(config.database, (reader) => reader.latestRun());
  if (last === undefined) return undefined;
  if (named) return { dir: named, origin: 'TRUSTWARD_RULES names' };
  return last.rulesDir === undefined ? undefined : { dir: last.rulesDir, origin: 'the last run used' };
}

/** What is done over the rules in force: other ones that `--rules` names would be ignored. */
const IS_OF_RULES: ReadonlySet<OperationId> = new Set(['approvePlan', 'rejectPlan', 'applyPlan']);

/** Errors: AppError `usage` when `--rules` names other rules than the daemon's: it would use its own. */
async function demandOwnRules(
  io: Io,
  config: Config,
  options: CommonOptions,
  daemon: DaemonClient | undefined,
): Promise<void> {
  const active = daemon && (await otherThanActive(io, config, options, daemon));
  if (!active) return;
  const text = `${active.origin} the rules in \`${active.dir}\`, not in \`${options.rules}\`, and would use its own`;
  throw new AppError('usage', `${text}: leave out --rules, or stop the daemon first`);
}

/** Only runs make a database: an answer to something in it would make an empty one beside the one that was meant. Errors: AppError `not_found`. */
async function demandMade(io: Io, options: CommonOptions): Promise<void> {
  const { demandDatabase } = await import('../../runtime/compose/reader.ts');
  demandDatabase(databaseOf(io, options));
}

/** Loaded only by commands that need an engine: a stop does not wait for it. */
async function wholeConfig(io: Io, options: CommonOptions): Promise<Config> {
  const { configOf } = await import('./config-of.ts');
  return configOf(io, options);
}

/** Also while a daemon writes. */
async function reads<Id extends ReadingId>(io: Io, options: CommonOptions, id: Id, input: Parsed<Id>) {
  const { READING } = await import('../../runtime/operations/reading.ts');
  const { composeReader } = await import('../../runtime/compose/reader.ts');
  const { withReader } = await import('../../runtime/compose/run-reader.ts');
  const { systemClock } = await import('../../runtime/system/clock.ts');
  const database = databaseOf(io, options);
  const evidence = await evidenceOf(await withSettings(io, options), database);
  return withReader(composeReader(database), (reader) => {
    const packing = async () => (await import('../../runtime/compose/packing.ts')).packSources(database, reader);
    return READING[id]({ reader, clock: systemClock, evidence, packing }, input, { by: actorHere() });
  });
}

/** What asks whose rules they lift. */
const ASKS_OWNERS: ReadonlySet<OperationId> = new Set(['confirmExemption', 'grantRequest', 'refuseRequest']);

/** As a run would have them. Errors: AppError `config`, `rules`. */
export async function rulesOfSettings(io: Io, options: CommonOptions) {
  const { rulesDir, rulesSigners, notify } = await wholeConfig(io, options);
  const { actionsWith } = await import('../../engine/act/actions.ts');
  const { loadRuleFolder } = await import('../../rules/active/rule-holder.ts');
  return loadRuleFolder(rulesDir, actionsWith([...notify.webhooks.keys()]), { signers: rulesSigners });
}

async function steers<Id extends keyof typeof STEERING>(io: Io, options: CommonOptions, id: Id, input: Parsed<Id>) {
  const { STEERING } = await import('../../runtime/operations/acting.ts');
  const { composeOperatorWriter } = await import('../../runtime/compose/opened.ts');
  const writer = await composeOperatorWriter(databaseOf(io, options));
  try {
    const { store, clock, checkpointer } = writer;
    await demandOwnAddress(options, databaseOf(io, options), store);
    const rules = ASKS_OWNERS.has(id)
      ? await rulesOfSettings(io, options).catch((error: Error) => error)
      : { rules: [] };
    const active = () => {
      if (rules instanceof Error) throw rules;
      return rules;
    };
    const operating = { store, clock, checkpointer, active };
    const database = databaseOf(io, options);
    const linking = async () => {
      const { peopleOf } = await import('../../runtime/compose/people.ts');
      const { peopleBaseOf } = await import('../../runtime/config/config.ts');
      return peopleOf({ store, clock, database, base: peopleBaseOf(io.env, database) });
    };
    return await STEERING[id]({ operating, linking, tokens: store.tokens() }, input, { by: actorHere() });
  } finally {
    await writer.checkpointer.publish();
    await writer.close();
  }
}

/** What needs no address uses none: another one than the database's is a mistake. Errors: AppError `usage`. */
async function demandOwnAddress(
  { apiUrl }: CommonOptions,
  database: Database,
  store: { address(): Promise<string | undefined> },
): Promise<void> {
  const own = apiUrl === undefined ? undefined : await store.address();
  if (apiUrl === undefined || own === undefined || !isOther(apiUrl.trim(), own)) return;
  const { shownAddress } = await import('../../domain/secrets.ts');
  throw new AppError(
    'usage',
    `--api-url is \`${shownAddress(apiUrl)}\`, and ${databaseName(database)} belongs to ${own}: leave out --api-url, or name another database with --db`,
  );
}

/**
 * Without a daemon only the rules' own modes cap what is applied of a plan, and TRUSTWARD_MODE, when set, or the mode of the organization what an
 * operator undoes.
 */
async function acts<Id extends OperationId>(io: Io, config: Config, id: Id, input: Parsed<Id>): Promise<Output<Id>> {
  if (id === 'why' || id === 'explainRule') return explains(config, id, input as never) as never;
  const { composeEngine } = await import('../../runtime/compose/compose.ts');
  const { done, shown } = await import('../../runtime/operations/acting.ts');
  const { readingOf } = await import('../../runtime/operations/performer.ts');
  const allowed = IS_OF_RULES.has(id) ? 'enforce' : (config.modeCap ?? 'enforce');
  const composition = await composeEngine(config, allowed, [], io.ending, progressOf(io, config));
  try {
    const { engine } = composition;
    return await namingApi(config, async () => {
      const what = await done({ engine, appliesAtOnce: false }, id as ActingId, input as never, { by: actorHere() });
      return (await shown(readingOf(composition), id as ActingId, what)) as never;
    });
  } finally {
    await composition.close();
  }
}

/** Only reads, beside any writer. Errors: as composeWhatIf, whyOf and explainSubject. */
async function explains(
  config: Config,
  id: 'why' | 'explainRule',
  input: Parsed<'why'> & Parsed<'explainRule'>,
): Promise<Output<'why'> | Output<'explainRule'>> {
  const { composeWhatIf } = await import('../../runtime/compose/compose.ts');
  const { engine, explaining, close } = await composeWhatIf(config);
  const daemonMode = leastMode(config.mode, engine.daemonMode);
  try {
    return await namingApi(config, async () => {
      const about = { ...explaining(), isWhatIf: false, daemonMode };
      if (id === 'why') return (await import('../../engine/explain/why.ts')).whyOf(about, input.of);
      const { explainSubject } = await import('../../engine/explain/judge-subject.ts');
      return explainSubject(about, input.id, input.subject);
    });
  } finally {
    await close();
  }
}

export function progressOf(io: Io, { log }: Pick<Config, 'log'>): Progress | undefined {
  return log.form === 'plain' ? statusLine.progress(io.env) : undefined;
}

// The words of an operation: how its options give its input, and what a person reads of its answer.

/** `breakGlass` → `--break-glass`. */
export function spelledAs(id: OperationId, path: string): string {
  const command = COMMANDS[id];
  if (path === '') return command?.line.replace(/ [<[].*/, '') ?? id;
  const [name = '', ...inner] = path.split(/[.[]/);
  const option = command?.options?.find((one) => memberOf(one) === name);
  const spelled =
    option?.flag.split(' ')[0] ??
    (new RegExp(`[<[]${name}[>\\]]`).test(command?.line ?? '') ? `<${name}>` : `\`${name}\``);
  return inner.length === 0 ? spelled : `${spelled} (\`${path}\`)`;
}

function memberOf({ flag, gives }: OptionWords): string {
  return gives ?? attributeOf(flag);
}

/** As the parser of arguments calls it. */
function attributeOf(flag: string): string {
  return (flag.split(' ')[0] ?? '').slice(2).replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
}

/** The members of an input that options of its command give. */
export function inputFrom(id: OperationId, options: object): object {
  const one: Entry = OPERATIONS[id];
  const given = (COMMANDS[id]?.options ?? []).flatMap((option) => {
    const value = (options as Record<string, unknown>)[attributeOf(option.flag)];
    return value === undefined ? [] : [[memberOf(option), value] as const];
  });
  const { params, query, body } = partsOf(one, Object.fromEntries(given));
  const known = (one.body ?? one.query) as { shape?: object } | undefined;
  const members = Object.entries({ ...query, ...body }).filter(([name]) => Object.hasOwn(known?.shape ?? {}, name));
  return { ...params, ...Object.fromEntries(members) };
}

const FORMATS = ['text', 'json'] as const;

export interface Words<Id extends OperationId> {
  text(answer: Output<Id>): string[];
  /** For people beside the text, on standard error: scripts read the text. */
  aside?(answer: Output<Id>): string;
  exitCode?(answer: Output<Id>): number;
  /** Its text has no form: a file may be called as one likes. */
  isBare?: true;
}

/** Does one operation, and writes its answer. `given`: what its arguments give, beside its options. */
export async function does<Id extends OperationId>(
  io: Io,
  options: CommonOptions,
  id: Id,
  given: object,
  words: Words<Id>,
  work: (input: object) => Promise<Output<Id>> = (input) => operations(io, options)[id](input as never) as never,
): Promise<number> {
  const format = outputOf(options, FORMATS, 'text', words.isBare && 'text');
  const answer = await work({ ...inputFrom(id, options), ...given });
  const text = format === 'json' ? JSON.stringify(answer, null, 2) : words.text(answer).map(showHidden).join('\n');
  write(io, options, text);
  if (format === 'text' && words.aside) io.err(`${showHidden(words.aside(answer))}\n`);
  return words.exitCode?.(answer) ?? 0;
}
