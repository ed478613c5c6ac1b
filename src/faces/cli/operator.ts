// cli: `exempt add|end`, `stop`, `resume`, `snapshot accept`, `intents resolve`, `claims release`: the operator
// commands. Each defines the request to the endpoint, what to do without a daemon, and the text of its result.

import type { Database } from '../../domain/database.ts';
import type { TokenStore } from '../../domain/endpoint-token.ts';
import { AppError } from '../../domain/errors.ts';
import { type Covered, coveredText } from '../../domain/exemption.ts';
import { isChosenName, type Named, resolveName } from '../../domain/identity.ts';
import { RESOLUTIONS, type Resolution } from '../../domain/intent.ts';
import { SUBJECT_KINDS, type SubjectKind } from '../../domain/subjects.ts';
import {
  type AboutRequest,
  acceptSnapshot,
  type ExemptionRequest,
  endExemption,
  type Operator,
  type OperatorEngine,
  resumeEverything,
  stopEverything,
} from '../../engine/operate/commands.ts';
import { confirmJoined, exempt } from '../../engine/operate/exempt.ts';
import { planRelease, releaseClaims } from '../../engine/operate/release.ts';
import { resolveIntent } from '../../engine/operate/resolve-intent.ts';
import type { Engine } from '../../engine/run/engine.ts';
import { composeReader } from '../../runtime/compose/reader.ts';
import type { Config } from '../../runtime/config/config.ts';
import { readDatabaseAccess } from '../../runtime/config/name-reader.ts';
import type { SqlReader } from '../../store/reader.ts';
import { timeWords } from '../report/decision-words.ts';
import { plural, showHidden } from '../report/fact-text.ts';
import { views } from '../report/index.ts';
import { countLines } from '../report/plan-view.ts';
import { actorHere, findDaemon, namingApi } from './daemon-client.ts';
import { type CommonOptions, databaseOf, flagsOf, type Io, outputOf, write } from './io.ts';

// A name that may mean several things, or that a user chose, at a terminal: a person chooses or confirms.

/** `confirms`: false where nothing is changed. Errors: AppError `usage` when the person chooses none. */
export async function chosenName(
  io: Io,
  options: CommonOptions,
  name: string,
  kinds: readonly SubjectKind[],
  { confirms = true } = {},
): Promise<string> {
  const { ask } = io;
  if (!ask) return name;
  const reader = await readerOf(databaseOf(io, options));
  if (!reader) return name;
  try {
    const resolved = await resolveName(reader, name, { kinds });
    if (resolved.found === 'several') return identifierOf(await choose(ask, name, resolved.among));
    if (confirms && resolved.found === 'one' && isChosenName(resolved.named)) {
      const { named } = resolved;
      const answer = await ask(`\`${showHidden(name)}\` is a name: ${showHidden(named.text)}. Is it meant? [y/N] `);
      if (!/^y(es)?$/i.test(answer.trim())) throw new AppError('usage', 'nothing was changed');
      return identifierOf(named);
    }
    return name;
  } finally {
    await reader.close();
  }
}

/** Without a database that can be read, the command itself reports it. */
function readerOf(database: Database): Promise<SqlReader | undefined> {
  return composeReader(database).catch(() => undefined);
}

async function choose(ask: NonNullable<Io['ask']>, name: string, among: readonly Named[]): Promise<Named> {
  const lines = among.map(({ text }, index) => `  ${index + 1}  ${showHidden(text)}`);
  const answer = await ask([`\`${showHidden(name)}\` may mean:`, ...lines, 'Which one? '].join('\n'));
  const chosen = /^\d{1,4}$/.test(answer.trim()) ? among[Number(answer) - 1] : undefined;
  if (!chosen) throw new AppError('usage', 'none was chosen: nothing was changed');
  return chosen;
}

function identifierOf({ by, target, subjects: [{ id }] }: Named): string {
  return by === 'id' ? id : (target ?? id);
}

// One operator command, wherever it runs: through the daemon's HTTP endpoint while one is active; otherwise here, with
// the writer's lock.

interface ReasonOptions extends CommonOptions {
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
    const { composeOperatorWriter } = await import('../../runtime/compose/opened.ts');
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
  const { composeEngine } = await import('../../runtime/compose/compose.ts');
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

function personOf({ reason }: ReasonOptions): Operator {
  return { by: actorHere(), reason };
}

// `claims release --rule`: plans the undo of all that a rule has in force.

interface PlannedReleaseShown {
  plan: ReturnType<typeof views.plan>;
  matching: number;
  kept: readonly { action: string; target: string; rules: readonly string[] }[];
}

async function ruleReleaseCommand(io: Io, rule: string, options: CommonOptions & { reason?: string }): Promise<number> {
  const { reason } = options;
  return perform<PlannedReleaseShown>(io, options, {
    path: '/api/claims/release',
    body: { rule, reason },
    withEngine: async (engine) => {
      const { plan, ...others } = await planRelease(engine, rule, actorHere(), reason);
      return { plan: views.plan(plan), ...others };
    },
    text: ({ plan, matching, kept }) => [
      `plan ${plan.id} undoes what rule ${rule} did to ${plural(plan.intents.length, 'target')}, and waits:`,
      ...countLines(plan.intents),
      matchingWords(matching, rule),
      ...kept.map(({ action, target, rules }) => `  ${action} ${target} stays: rule ${rules.join(', ')} claims it too`),
      `nothing is undone yet: \`trustward plans ${plan.id}\` shows it, \`trustward approve ${plan.id}\` approves it`,
    ],
  });
}

function matchingWords(count: number, rule: string): string {
  if (count === 0) return `none of them matches rule ${rule} any longer`;
  return `${count} of them still match rule ${rule}: they are not acted on again while the match lasts`;
}

type Views = typeof views;
type StopShown = ReturnType<Views['stop']>;
type ExemptionShown = ReturnType<Views['exemption']>;
type ReleasedShown = ReturnType<Views['released']>;

export async function stopCommand(io: Io, options: ReasonOptions): Promise<number> {
  return perform<{ stopped: StopShown }>(io, options, {
    path: '/api/stop',
    body: { reason: options.reason },
    withStore: async (refused) => ({ stopped: views.stop(await stopEverything(refused, personOf(options))) }),
    text: ({ stopped }) => [
      `everything has been stopped since ${timeWords(stopped.at)} (${stopped.by}: ${stopped.reason})`,
      'runs continue to judge; nothing is called until `trustward resume --reason …`',
    ],
  });
}

export async function resumeCommand(io: Io, options: ReasonOptions): Promise<number> {
  return perform<{ stopped: null; lifted: StopShown }>(io, options, {
    path: '/api/resume',
    body: { reason: options.reason },
    withStore: async (refused) => ({
      stopped: null,
      lifted: views.stop(await resumeEverything(refused, personOf(options))),
    }),
    text: ({ lifted }) => [
      `resumed: everything had been stopped since ${timeWords(lifted.at)} (${lifted.by}: ${lifted.reason})`,
    ],
  });
}

export async function acceptCommand(io: Io, source: string, options: ReasonOptions): Promise<number> {
  return perform<ReturnType<Views['acceptance']>>(io, options, {
    path: '/api/snapshot/accept',
    body: { source, reason: options.reason },
    withStore: async (refused) => views.acceptance(await acceptSnapshot(refused, source, personOf(options))),
    text: ({ count, causes }) => [
      `the next reading of ${source} becomes the baseline, if it is no worse than the last one (${causes.join(', ')}; ${count} records)`,
    ],
  });
}

export interface ExemptOptions extends ReasonOptions {
  selector?: string;
  unseen?: boolean;
  owner: string;
  until: string;
  release?: boolean;
  acceptForgeable?: boolean;
}

/** Exit code 3: a release was asked for, and part of it was not done. */
export async function exemptAddCommand(
  io: Io,
  kindOrName: string | undefined,
  name: string | undefined,
  options: ExemptOptions,
): Promise<number> {
  const { owner, reason, until, release, unseen, acceptForgeable } = options;
  const request: ExemptionRequest & { release: boolean } = {
    ...(await aboutOf(io, kindOrName, name, options)),
    unseen: unseen ?? false,
    owner,
    reason,
    until,
    release: release ?? false,
    acceptForgeable: acceptForgeable ?? false,
  };
  return perform<ExemptionShown & { covers: Covered | null; released: ReleasedShown[] }>(io, options, {
    path: '/api/exemptions',
    body: request,
    withEngine: async (engine) => {
      const { exemption, covers, released } = await exempt(engine, request, actorHere());
      const shown = { ...views.exemption(exemption, engine.clock.nowMs()), covers: covers ?? null };
      return { ...shown, released: released.map(views.released) };
    },
    text: (answer) => [
      `exemption ${answer.id}: ${answer.about} is left alone until ${timeWords(answer.expiresAt)} (${answer.owner} is responsible for it)`,
      coversLine(answer.covers),
      ...(request.release && answer.released.length === 0 ? ['nothing that Trustward did is in force on it'] : []),
      ...answer.released.map(releasedLine),
    ],
    exitCode: ({ released }) => exitCodeOf(released),
  });
}

/** Groups are not kept, and before the first reading nothing is: then nobody can say whether a value is misspelled. */
function coversLine(covers: Covered | null): string {
  if (covers === null)
    return 'warning: whether it covers anything is not known now: `trustward exempt list` shows when it was used';
  return `${covers.count === 0 ? 'warning: it ' : ''}${coveredText(covers)}`;
}

async function aboutOf(
  io: Io,
  kindOrName: string | undefined,
  name: string | undefined,
  options: ExemptOptions,
): Promise<AboutRequest> {
  const { selector } = options;
  if (selector !== undefined && kindOrName === undefined) {
    const at = selector.indexOf('=');
    if (at < 1)
      throw new AppError('usage', `--selector is \`${selector}\`: expected FIELD=VALUE, such as Groups=Board`);
    return { selector: { field: selector.slice(0, at).trim(), value: selector.slice(at + 1).trim() } };
  }
  if (selector !== undefined || kindOrName === undefined)
    throw new AppError(
      'usage',
      'give either a name, such as `C02XL0ABJGH5` or `device 4f1c…`, or --selector FIELD=VALUE',
    );
  const given = name === undefined ? { id: kindOrName } : { kind: kindOrName, id: name };
  const kinds = SUBJECT_KINDS.filter((kind) => given.kind === undefined || given.kind === kind);
  const id = options.unseen ? given.id : await chosenName(io, options, given.id, kinds);
  return { subject: { ...given, id } };
}

export async function exemptEndCommand(io: Io, id: string, options: ReasonOptions): Promise<number> {
  return perform<ExemptionShown>(io, options, {
    path: `/api/exemptions/${encodeURIComponent(id)}/end`,
    body: { reason: options.reason },
    withStore: async (refused) =>
      views.exemption(await endExemption(refused, id, personOf(options)), refused.clock.nowMs()),
    text: (ended) => [`exemption ${ended.id} of ${ended.about} has ended: rules act on it again`],
  });
}

export async function exemptConfirmCommand(
  io: Io,
  id: string,
  options: ReasonOptions & { subject?: string },
): Promise<number> {
  const { subject, reason } = options;
  return perform<ExemptionShown & { confirmed: string[] }>(io, options, {
    path: `/api/exemptions/${encodeURIComponent(id)}/confirm`,
    body: { subject, reason },
    withStore: async (refused) => {
      const { exemption, confirmed } = await confirmJoined(refused, id, { ...personOf(options), subject });
      return { ...views.exemption(exemption, refused.clock.nowMs()), confirmed };
    },
    text: (answer) => [`exemption ${answer.id} of ${answer.about} covers from now on, too:`, ...answer.confirmed],
  });
}

export async function intentResolveCommand(
  io: Io,
  id: string,
  options: ReasonOptions & { as: string },
): Promise<number> {
  const as = RESOLUTIONS.find((known) => known === options.as);
  if (!as) throw new AppError('usage', `--as is \`${options.as}\`: expected ${RESOLUTIONS.join(', ')}`);
  return perform<ReturnType<Views['intent']>>(io, options, {
    path: `/api/intents/${encodeURIComponent(id)}/resolve`,
    body: { as, reason: options.reason },
    withEngine: async (engine) => views.intent(await resolveIntent(engine, id, as, personOf(options))),
    text: (intent) => [`intent ${intent.id} (${intent.action} ${intent.target}): ${RESOLVED[as]}`],
  });
}

const RESOLVED: Record<Resolution, string> = {
  done: 'confirmed; its effect is claimed, and undone when the rule no longer matches',
  'not-done': 'failed; it is not attempted again in this episode',
  retry: 'the next run reads it back, and attempts it once more if it is not done and still proposed',
};

/** Exit code 3: the undo was refused, failed, or is in doubt; the claims stay open. */
export async function claimReleaseCommand(
  io: Io,
  target: string | undefined,
  options: CommonOptions & { rule?: string; reason?: string },
): Promise<number> {
  const { rule, reason } = options;
  if ((target === undefined) === (rule === undefined))
    throw new AppError('usage', 'give a target to release, or a rule with `--rule`: one of the two');
  if (rule !== undefined) return ruleReleaseCommand(io, rule, options);
  if (reason === undefined) throw new AppError('usage', '`--reason` is missing: say why, for the audit');
  return targetReleaseCommand(io, target as string, { ...options, reason });
}

async function targetReleaseCommand(io: Io, target: string, options: ReasonOptions): Promise<number> {
  const chosen = await chosenName(io, options, target, ['device', 'service']);
  return perform<{ released: ReleasedShown[] }>(io, options, {
    path: '/api/claims/release',
    body: { target: chosen, reason: options.reason },
    withEngine: async (engine) => ({
      released: (await releaseClaims(engine, chosen, personOf(options))).map(views.released),
    }),
    text: ({ released }) => released.map(releasedLine),
    exitCode: ({ released }) => exitCodeOf(released),
  });
}

function releasedLine({ action, target, state, text }: ReleasedShown): string {
  const words = { released: 'released', dry_run: 'dry run', standing: 'NOT released, its claims stay open' }[state];
  return `${action} ${target}: ${words} (${text})`;
}

function exitCodeOf(released: readonly ReleasedShown[]): number {
  return released.some(({ state }) => state === 'standing') ? 3 : 0;
}
