// cli: the operator commands: what a person reads of the answer of each, and how a name that may mean several things is chosen at a terminal.

import type { ReleasedShown } from '../../contract/nouns.ts';
import type { Input, Output } from '../../contract/table.ts';
import { actorText } from '../../domain/actor.ts';
import type { Database } from '../../domain/database.ts';
import { AppError } from '../../domain/errors.ts';
import { type Covered, coveredText } from '../../domain/exemption.ts';
import { GRANT_UNDOES_NOTHING } from '../../domain/exemption-request.ts';
import { demandOne, isChosenName, type Named, resolveName } from '../../domain/identity.ts';
import type { Resolution } from '../../domain/intent.ts';
import { SUBJECT_KINDS, type SubjectKind, type SubjectRef } from '../../domain/subjects.ts';
import { composeReader } from '../../runtime/compose/reader.ts';
import type { SqlReader } from '../../store/reader.ts';
import { timeWords } from '../report/decision-words.ts';
import { plural, showHidden } from '../report/fact-text.ts';
import { countLines } from '../report/plan-view.ts';
import { checkedLines } from '../report/rule-view.ts';
import { remoteOf } from './config-of.ts';
import { type CommonOptions, databaseOf, type Io } from './io.ts';
import { does } from './operations.ts';

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
  // An endpoint resolves it, and refuses one that may mean several things.
  if (!ask || (await remoteOf(io, options))) return name;
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

function matchingWords(count: number, rule: string): string {
  if (count === 0) return `none of them still matches rule ${rule}`;
  return `${count} of them still match rule ${rule}: they are not acted on again while the match lasts`;
}

interface ReasonOptions extends CommonOptions {
  reason: string;
}

export function stopCommand(io: Io, options: ReasonOptions): Promise<number> {
  return does(
    io,
    options,
    'stop',
    {},
    {
      text: ({ stopped }) => [
        `everything has been stopped since ${timeWords(stopped.at)} (${actorText(stopped.by)}: ${stopped.reason})`,
        'runs continue to judge; nothing is called until `trustward resume --reason …`',
      ],
    },
  );
}

export function resumeCommand(io: Io, options: ReasonOptions): Promise<number> {
  return does(
    io,
    options,
    'resume',
    {},
    {
      text: ({ lifted }) => [
        `resumed: everything had been stopped since ${timeWords(lifted.at)} (${actorText(lifted.by)}: ${lifted.reason})`,
      ],
    },
  );
}

export function acceptCommand(io: Io, source: string, options: ReasonOptions): Promise<number> {
  return does(
    io,
    options,
    'acceptSnapshot',
    { source },
    {
      text: ({ count, causes }) => [
        `the next reading of ${source} becomes the baseline, if it is no worse than the last one (${causes.join(', ')}; ${count} records)`,
      ],
    },
  );
}

export interface ExemptOptions extends ReasonOptions {
  selector?: string;
  unseen?: boolean;
  release?: boolean;
}

/** Exit code 3: a release was asked for, and part of it was not done. */
export async function exemptAddCommand(
  io: Io,
  kindOrName: string | undefined,
  name: string | undefined,
  options: ExemptOptions,
): Promise<number> {
  const { selector: _, ...given } = options;
  const about = await aboutOf(io, kindOrName, name, options);
  return does(io, given, 'addExemption', about, {
    text: (answer) => [
      `exemption ${answer.id}: ${answer.about} is left alone until ${timeWords(answer.expiresAt)} (${answer.owner} is responsible for it)`,
      coversLine(answer.covers),
      ...(options.release && answer.released.length === 0 ? ['nothing that Trustward did is in force on it'] : []),
      ...answer.released.map(releasedLine),
    ],
    exitCode: ({ released }) => exitCodeOf(released),
  });
}

/** Groups are not kept, and before the first reading nothing is: then nobody can say whether a value is misspelled. */
function coversLine(covers: Covered | null): string {
  if (covers === null)
    return 'warning: it cannot be checked now whether this covers anything: `trustward exempt list` shows when it was used';
  return `${covers.count === 0 ? 'warning: it ' : ''}${coveredText(covers)}`;
}

async function aboutOf(
  io: Io,
  kindOrName: string | undefined,
  name: string | undefined,
  options: ExemptOptions,
): Promise<Pick<Input<'addExemption'>, 'subject' | 'selector'>> {
  const { selector } = options;
  if (selector !== undefined) {
    const at = selector.indexOf('=');
    if (at < 1)
      throw new AppError('usage', `--selector is \`${selector}\`: expected FIELD=VALUE, such as Groups=Board`);
    return { selector: { field: selector.slice(0, at).trim(), value: selector.slice(at + 1).trim() } };
  }
  const [first = '', second] = [kindOrName, name];
  const given = second === undefined ? { id: first } : { kind: first, id: second };
  const kinds = SUBJECT_KINDS.filter((kind) => given.kind === undefined || given.kind === kind);
  const id = options.unseen ? given.id : await chosenName(io, options, given.id, kinds);
  return { subject: { ...given, id } };
}

export function exemptEndCommand(io: Io, id: string, options: ReasonOptions): Promise<number> {
  return does(
    io,
    options,
    'endExemption',
    { id },
    {
      text: (ended) => [`exemption ${ended.id} of ${ended.about} has ended: rules act on it again`],
    },
  );
}

export function exemptConfirmCommand(io: Io, id: string, options: ReasonOptions): Promise<number> {
  return does(
    io,
    options,
    'confirmExemption',
    { id },
    {
      text: (answer) => [`exemption ${answer.id} of ${answer.about} now also covers:`, ...answer.confirmed],
    },
  );
}

type AnswerOptions = CommonOptions & { say: string };

export function requestGrantCommand(io: Io, id: string, options: AnswerOptions): Promise<number> {
  return does(
    io,
    options,
    'grantRequest',
    { id },
    {
      text: ({ person, device, exemption, exemptUntil, inForce }) => [
        `granted to ${person}: device ${device} is left alone until ${timeWords(exemptUntil ?? '')} (exemption ${exemption})`,
        ...(inForce.length === 0 ? [] : [`${GRANT_UNDOES_NOTHING}:`]),
        ...inForce.map(({ action, target, command }) => `  ${action} ${target}: \`${command}\` undoes it`),
      ],
    },
  );
}

export function requestRefuseCommand(io: Io, id: string, options: AnswerOptions): Promise<number> {
  return does(
    io,
    options,
    'refuseRequest',
    { id },
    {
      text: ({ person, device }) => [
        `refused: ${person} reads your sentence, and rules act on device ${device} as before`,
      ],
    },
  );
}

export function intentResolveCommand(io: Io, id: string, options: ReasonOptions & { as: Resolution }): Promise<number> {
  return does(
    io,
    options,
    'resolveIntent',
    { id },
    {
      text: (intent) => [`action ${intent.id} (${intent.action} ${intent.target}): ${RESOLVED[options.as]}`],
    },
  );
}

const RESOLVED: Record<Resolution, string> = {
  done: 'confirmed; it is in force, and undone when the rule no longer matches',
  'not-done': 'failed; it is not attempted again while this match lasts',
  retry: 'the next run reads it back, and attempts it once more if it is not done and still proposed',
};

export function rolloutResumeCommand(io: Io, id: string, options: ReasonOptions): Promise<number> {
  const text = ({ rule, text }: Output<'resumeRollout'>) => [`rule ${rule} goes on: ${text}`];
  return does(io, options, 'resumeRollout', { id }, { text });
}

export function rolloutRestartCommand(io: Io, id: string, options: ReasonOptions): Promise<number> {
  const text = ({ rule, text }: Output<'restartRollout'>) => [`the rollout of rule ${rule} begins anew: ${text}`];
  return does(io, options, 'restartRollout', { id }, { text });
}

/** Its kind is in the path of the operation. */
async function subjectNamed(io: Io, options: CommonOptions, name: string): Promise<SubjectRef> {
  const remote = await remoteOf(io, options);
  if (remote) {
    const { kind, id } = (await remote.why({ of: name })).subject;
    return { kind, id };
  }
  const reader = await composeReader(databaseOf(io, options));
  try {
    const { kind, id } = demandOne(await resolveName(reader, name, { kinds: SUBJECT_KINDS }), name).subjects[0];
    return { kind, id };
  } finally {
    await reader.close();
  }
}

export async function checkCommand(io: Io, what: string, options: CommonOptions): Promise<number> {
  const chosen = await chosenName(io, options, what, SUBJECT_KINDS, { confirms: false });
  const named = await subjectNamed(io, options, chosen);
  return does(io, options, 'checkSubject', named, { text: checkedLines });
}

/** Exit code 3: the undo was refused, failed, or is in doubt; the claims stay open. */
export async function claimReleaseCommand(
  io: Io,
  target: string | undefined,
  options: CommonOptions & { reason?: string },
): Promise<number> {
  const chosen = target === undefined ? undefined : await chosenName(io, options, target, ['device', 'service']);
  return does(
    io,
    options,
    'releaseClaims',
    { target: chosen },
    {
      text: (answer) => ('released' in answer ? answer.released.map(releasedLine) : plannedLines(answer)),
      exitCode: (answer) => ('released' in answer ? exitCodeOf(answer.released) : 0),
    },
  );
}

/** Standard output is the link alone. */
export function mineLinkCommand(io: Io, person: string, options: CommonOptions): Promise<number> {
  return does(
    io,
    options,
    'linkPerson',
    { person },
    {
      text: ({ url }) => [url],
      aside: (made) =>
        `it shows ${made.person} their own devices, as long as the match of rule ${made.rule} (since ${timeWords(made.since)}) is open; whoever has it sees the same`,
    },
  );
}

export function mineRevokeCommand(io: Io, person: string, options: ReasonOptions): Promise<number> {
  return does(
    io,
    options,
    'revokePersonLinks',
    { person },
    {
      text: (answer) => [`every link of ${answer.person} that was made before ${timeWords(answer.before)} is refused`],
    },
  );
}

function plannedLines({ plan, matching, kept }: Exclude<Output<'releaseClaims'>, { released: unknown }>): string[] {
  const rule = plan.releases ?? '';
  return [
    `plan ${plan.id} undoes what rule ${rule} did to ${plural(plan.intents.length, 'target')}, and waits:`,
    ...countLines(plan.intents),
    matchingWords(matching, rule),
    ...kept.map(({ action, target, rules }) => `  ${action} ${target} stays: rule ${rules.join(', ')} holds it too`),
    ...(plan.needs === null ? [] : [`it needs ${plan.needs}`]),
    `nothing is undone yet: \`trustward plans ${plan.id}\` shows it, \`trustward approve ${plan.id}\` approves it`,
  ];
}

function releasedLine({ action, target, state, text }: ReleasedShown): string {
  const words = { released: 'released', dry_run: 'dry run', standing: 'NOT released, it stays in force' }[state];
  return `${action} ${target}: ${words} (${text})`;
}

function exitCodeOf(released: readonly ReleasedShown[]): number {
  return released.some(({ state }) => state === 'standing') ? 3 : 0;
}
