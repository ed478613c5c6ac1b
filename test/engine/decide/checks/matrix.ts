// test: the table of checks for people, made of the code. In: the checks, each stage's list and the reasons for its gaps. Out: docs/checks.md.

import { CHECK_NAMES, type CheckName, STAGES, type Stage } from '../../../../src/domain/check.ts';
import { CHECKS } from '../../../../src/engine/decide/checks/ask.ts';
import { type Asked, GAPS, LISTS } from '../../../../src/engine/decide/checks/stages.ts';

const LETTERS = 'abcdefghijklmnopqrstuvwxyz';

const ABOUT: { readonly [stage in Stage]: string } = {
  deciding: 'of each proposal of a run, before an intent is made of it',
  preflight: 'of each intent, before its call, with the target as just read',
  applying: 'of each intent of an approved plan, before it is begun; preflight follows',
  releasing: "before a person's undo is begun; preflight follows",
  retrying: 'of an intent of which nobody knows what it did, when it is read back and is to be tried once more',
};

export function matrixText(): string {
  return `# Safety checks

A check is one question about one target. Each is written once, in the file of its family in \`src/engine/decide/checks/\`. Every stage that has it in its list asks it.
The first check that refuses gives the reason; nothing else decides. One exception, in deciding: a hold that an approval can lift gives way to a later
check that no approval lifts (\`conflict\`, \`other-first\`, \`undone-anyway\`). This page is generated: \`npm run docs:checks\` writes it from the code, and
\`npm test\` compares it.

${STAGES.map((stage) => `- **${stage}**: ${ABOUT[stage]}.`).join('\n')}

A number is the place in the stage's order. \`*\`: asked only of what changes the fleet; a notification has no target that could be in doubt. A letter is a
gap, and the reason for it stands below the table.

| check | it answers when | ${STAGES.join(' | ')} |
|---|---|${STAGES.map(() => '---').join('|')}|
${CHECK_NAMES.map(row).join('\n')}

${STAGES.map(gapsText).join('\n\n')}
`;
}

function row(name: CheckName): string {
  return `| \`${name}\` | ${CHECKS[name].when} | ${STAGES.map((stage) => cell(stage, name)).join(' | ')} |`;
}

function cell(stage: Stage, name: CheckName): string {
  const list: readonly Asked[] = LISTS[stage];
  const place = list.findIndex(({ check }) => check === name);
  if (place >= 0) return `${place + 1}${list[place]?.of === 'fleet' ? '\\*' : ''}`;
  return LETTERS[gapsOf(stage).findIndex(([, names]) => names.includes(name))] ?? '?';
}

function gapsOf(stage: Stage): [reason: string, names: readonly CheckName[]][] {
  return Object.entries(GAPS[stage]);
}

function gapsText(stage: Stage): string {
  const reasons = gapsOf(stage).map(
    ([reason, names], index) => `- ${LETTERS[index]}: ${names.map((name) => `\`${name}\``).join(', ')}: ${reason}.`,
  );
  return `## What ${stage} leaves out\n\n${reasons.join('\n')}`;
}
