// commands: `exempt add|end`, `stop`, `resume`, `snapshot accept`, `intents resolve`, `claims release`: the operator
// commands. Each defines the request to the endpoint, what to do without a daemon, and the text of its result.

import { AppError } from '../domain/errors.ts';
import { type Covered, coveredText } from '../domain/exemption-covers.ts';
import { RESOLUTIONS, type Resolution } from '../domain/intent.ts';
import { SUBJECT_KINDS } from '../domain/subjects.ts';
import {
  acceptSnapshot,
  type ExemptionRequest,
  endExemption,
  resumeEverything,
  stopEverything,
} from '../operator/commands.ts';
import { confirmJoined } from '../operator/confirm-joined.ts';
import { exempt } from '../operator/exempt.ts';
import type { AboutRequest } from '../operator/exemption-about.ts';
import { releaseClaims } from '../operator/release-claims.ts';
import { resolveIntent } from '../operator/resolve-intent.ts';
import { timeWords, views } from '../report/index.ts';
import { actorHere } from './actor.ts';
import { chosenName } from './chosen-name.ts';
import { ruleReleaseCommand } from './claims-release.ts';
import type { CommonOptions, Io } from './io.ts';
import { perform, personOf, type ReasonOptions } from './operator-command.ts';

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
