// cli: `rules check`, `rules test`, `rules schema`, `rules list`, `rules sign`: about rule files, without the API. A database that there is only adds words.

import { spawnSync } from 'node:child_process';
import { createPrivateKey } from 'node:crypto';
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { didYouMean } from '../../base/nearest-name.ts';
import { shellWord } from '../../base/text.ts';
import { formatDuration } from '../../base/time.ts';
import { AppError } from '../../domain/errors.ts';
import { guardLines, guardsOf } from '../../domain/guards.ts';
import { lostFactsText } from '../../domain/lists.ts';
import { beyondHistoryText } from '../../domain/look-back.ts';
import { type RolloutState, stateOfRollout } from '../../domain/rollout.ts';
import { almostValues, almostValueText, CLEAR_FOR_LEAST_MS, hastyRules, helplessRules } from '../../domain/rule.ts';
import type { PullReader } from '../../domain/store-ports.ts';
import { SOURCE_OF, SOURCES } from '../../domain/subjects.ts';
import { ACTIONS } from '../../engine/act/actions.ts';
import { foldersIn, loadRuleFolder } from '../../rules/active/rule-holder.ts';
import { rulesThatLose } from '../../rules/compile/expressions.ts';
import type { LoadedRule } from '../../rules/language/loaded-rule.ts';
import { unusedLists } from '../../rules/load/named-lists.ts';
import { rulesJsonSchema } from '../../rules/load/read-rule.ts';
import { listOf, NAMESPACE, SIGNATURE_FILE, signatureWith, withSignature } from '../../rules/load/signatures.ts';
import { rulesBeyondHistory } from '../../rules/look-back.ts';
import { failingRules, formatTestReport, runRuleTests } from '../../rules/rule-tests/run-tests.ts';
import { readHistory } from '../../runtime/config/config.ts';
import type { Environment } from '../../runtime/config/name-reader.ts';
import { ConfigReader, listsOf } from '../../runtime/config/reader.ts';
import { evidenceLine, evidenceView } from '../report/evidence-words.ts';
import { plural, showHidden, whole } from '../report/fact-text.ts';
import { rolloutText } from '../report/rule-view.ts';
import { paragraph, terminalList } from '../report/terminal-table.ts';
import { evidenceOf, withSettings } from './config-of.ts';
import { type CommonOptions, databaseOf, type Io, lineWidthOf, outputOf, write } from './io.ts';

async function rulesDirOf(io: Io, options: CommonOptions): Promise<string> {
  const { env } = await withSettings(io, options);
  return options.rules ?? (env.TRUSTWARD_RULES?.trim() || 'rules');
}

/** Errors: AppError `config`. */
function historyMsOf(env: Environment): number {
  const reader = new ConfigReader(env);
  const { historyMs } = readHistory(reader);
  reader.finish();
  return historyMs;
}

/** Errors: as loadRuleFolder. */
async function load(io: Io, options: CommonOptions): ReturnType<typeof loadRuleFolder> {
  return loadRuleFolder(await rulesDirOf(io, options), ACTIONS);
}

/** Whoever made the last signature stays beside it. Errors: as loadRuleFolder; AppError `usage` for a key. */
export async function rulesSignCommand(io: Io, options: CommonOptions & { key?: string }): Promise<number> {
  const format = outputOf(options, ['text'] as const, 'text');
  const { key } = options;
  if (key === undefined)
    throw new AppError('usage', 'give the private key in --key FILE: of SSH, or of Ed25519 in PEM');
  const { read } = await load(io, options);
  const lines: string[] = [];
  for (const dir of foldersIn(await rulesDirOf(io, options))) {
    const list = listOf(read.filter((one) => one.dir === dir));
    const file = join(dir, SIGNATURE_FILE);
    const before = existsSync(file) ? readFileSync(file, 'utf8') : undefined;
    const { text, line } = withSignature(before, list, signatureOf(key, list));
    writeFileSync(`${file}.new`, text);
    renameSync(`${file}.new`, file);
    lines.push(`signed ${plural(list.split('\n').length - 2, 'file')} of \`${dir}\` in \`${file}\``);
    if (!lines.some((one) => one.endsWith(line)))
      lines.unshift(`the line of this key in TRUSTWARD_RULES_SIGNERS, with your address: you@example.com ${line}`);
  }
  write(io, { ...options, format }, lines.join('\n'));
  return 0;
}

/** Errors: AppError `usage`. */
function signatureOf(file: string, list: string): string {
  const pem = existsSync(file) ? readFileSync(file, 'utf8') : '';
  if (pem.startsWith('-----BEGIN PRIVATE KEY-----')) {
    const key = createPrivateKey(pem);
    if (key.asymmetricKeyType === 'ed25519') return signatureWith(key, list);
  }
  const args = ['-Y', 'sign', '-n', NAMESPACE, '-f', file];
  const made = spawnSync('ssh-keygen', args, { input: list, encoding: 'utf8', stdio: ['pipe', 'pipe', 'pipe'] });
  if (made.status === 0) return made.stdout;
  const why = made.error
    ? '`ssh-keygen` cannot be started'
    : showHidden((made.stderr ?? '').trim().split('\n').at(-1) ?? '');
  const other = 'a key that needs nothing else is made by `openssl genpkey -algorithm ed25519 -out FILE`';
  throw new AppError('usage', `\`${file}\` does not sign: ${why}; ${other}`);
}

export async function rulesCheckCommand(io: Io, options: CommonOptions): Promise<number> {
  const format = outputOf(options, ['text', 'json'] as const, 'text');
  const { env } = await withSettings(io, options);
  const signers = env.TRUSTWARD_RULES_SIGNERS?.trim() || undefined;
  const dir = await rulesDirOf(io, options);
  const { rules, lists: named } = await loadRuleFolder(dir, ACTIONS, { signers });
  const almost = await almostIn(io, options, rules);
  const unused = unusedLists(named, rules);
  const ids = rules.map(({ id }) => id);
  const lists = listsOf(env);
  const lost = lists === 'v1' ? [] : rulesThatLose(rules);
  const keepMs = historyMsOf(env);
  const beyond = rulesBeyondHistory(rules, keepMs);
  const hasty = hastyRules(rules);
  const helpless = helplessRules(rules);
  const failing = failingRules(runRuleTests(rules));
  const guards = guardsOf(rules);
  const guarding = guards ? guardLines(guards) : [];
  const signedBy = guards?.signedBy;
  const folders = shellWord(dir);
  write(
    io,
    options,
    format === 'json'
      ? JSON.stringify({
          ok: true,
          rules: ids,
          ...(lists !== 'v1' && { lists, lost }),
          ...(beyond.length > 0 && { beyondHistory: beyond }),
          ...(hasty.length > 0 && { clearForBelow30m: hasty.map(({ id }) => id) }),
          ...(helpless.length > 0 && { noticeWithoutFix: helpless.map(({ id }) => id) }),
          ...(almost.length > 0 && { almostValues: almost.map(({ text: _, ...one }) => one) }),
          ...(failing.length > 0 && { failing }),
          ...(guarding.length > 0 && { guards: guarding }),
          ...(signedBy && { signedBy }),
          ...(unused.length > 0 && { unusedLists: unused.map(({ name }) => name) }),
        })
      : [
          `${ids.length} rule${ids.length === 1 ? '' : 's'} can be loaded${signedBy ? `, all signed by ${signedBy.join(' and ')}` : ''}`,
          ...failing.map(
            ({ rule, failed, of }) =>
              `rule \`${rule}\` fails ${failed} of its own ${plural(of, 'test')}, and would be in force all the same: \`trustward rules test --rules ${folders}\` shows what was expected`,
          ),
          ...lost.map(({ rule, subject, facts }) => lostFactsText(rule, subject, facts)),
          ...beyond.map(({ rule, subject, facts }) => beyondHistoryText(rule, subject, facts, keepMs)),
          ...hasty.map(hastyText),
          ...helpless.map(
            ({ id }) =>
              `rule \`${id}\` warns people and does not say what is wrong or what they can do: write \`fix: { problem: …, text: …, url: https://… }\``,
          ),
          ...almost.map(({ text }) => text),
          ...guarding.map((line) => showHidden(`the set ${line}`)),
          ...unused.map(({ name, file }) => `no rule reads the list \`${name}\` (\`${file}\`)`),
        ]
          .map((line) => paragraph(line, lineWidthOf(options)))
          .join('\n'),
  );
  return 0;
}

/** By the last trusted readings, where there are some: a field that no rule read then has its usual values. */
async function almostIn(io: Io, options: CommonOptions, rules: readonly LoadedRule[]) {
  const { readIfAny } = await import('../../runtime/compose/reader.ts');
  const read = (reader: Pick<PullReader, 'baseline'>) => Promise.all(SOURCES.map((source) => reader.baseline(source)));
  const baselines = (await readIfAny(databaseOf(io, options), read)) ?? [];
  return rules.flatMap((rule) => {
    const baseline = baselines.find((one) => one?.source === SOURCE_OF[rule.subject]);
    return almostValues(rule, baseline?.values ?? {}).map((one) => {
      return { rule: rule.id, ...one, text: showHidden(almostValueText(rule.id, one, baseline?.takenAt)) };
    });
  });
}

function hastyText({ id, clearForMs }: LoadedRule): string {
  const [is, least] = [clearForMs === 0 ? '0s' : formatDuration(clearForMs), formatDuration(CLEAR_FOR_LEAST_MS)];
  return `rule \`${id}\` undoes what it did with \`clear_for: ${is}\`: one report that is wrong is enough; write at least \`clear_for: ${least}\``;
}

export async function rulesListCommand(io: Io, options: CommonOptions): Promise<number> {
  const format = outputOf(options, ['text', 'json'] as const, 'text');
  const { rules } = await load(io, options);
  const kept = await evidenceOf(await withSettings(io, options), databaseOf(io, options));
  const states = await rolloutsIn(io, options, rules);
  const rows = rules.map(({ id, title, severity, subject, mode, watch, then, hash, file, sources, rollout }) => ({
    id,
    title,
    severity,
    subject,
    mode,
    watch,
    then: then.map(({ action }) => action),
    sources,
    file,
    hash,
    ...(rollout && { rollout: rolloutText({ rollout }, stateOfRollout({ id, rollout }, states)) }),
    evidence: evidenceView({ mode, hash }, kept),
  }));
  const cells = rows.map(({ mode, watch, severity, subject, id, title, then, hash, rollout }) => [
    whole(id),
    [mode, ...(watch ? [] : ['whole runs only']), ...(rollout ? [rollout] : [])],
    severity,
    subject,
    then,
    title,
    evidenceLine({ mode, hash }, kept) ?? [],
  ]);
  const head = ['Rule', 'Mode', 'Severity', 'Subject', 'Actions', 'Title', 'Evidence'];
  const text = () => terminalList(head, cells, lineWidthOf(options), ['Evidence', 'Title']);
  write(io, options, format === 'json' ? JSON.stringify(rows, null, 2) : text());
  return 0;
}

/** How far they are, where there is a database. */
async function rolloutsIn(
  io: Io,
  options: CommonOptions,
  rules: readonly LoadedRule[],
): Promise<readonly RolloutState[]> {
  if (!rules.some(({ rollout }) => rollout)) return [];
  const { readIfAny } = await import('../../runtime/compose/reader.ts');
  return (await readIfAny(databaseOf(io, options), (reader) => reader.rollouts())) ?? [];
}

/** Exit code 1: a test failed, a rule has none, or (with `--mutate`) no test notices a change of a rule. */
export async function rulesTestCommand(
  io: Io,
  named: string | undefined,
  options: CommonOptions & { mutate?: boolean },
): Promise<number> {
  const format = outputOf(options, ['text', 'json', 'junit'] as const, 'text');
  const { rules } = await load(io, options);
  const chosen = named === undefined ? rules : [oneOf(rules, named, await rulesDirOf(io, options))];
  const report = runRuleTests(chosen, { mutate: options.mutate ?? false });
  const almost = format === 'text' ? await almostIn(io, options, chosen) : [];
  write(io, options, [formatTestReport(report, format).trimEnd(), ...almost.map(({ text }) => text)].join('\n'));
  return report.ok ? 0 : 1;
}

/** By its id or its file, which is given by its path or within the folder. */
export function oneOf(rules: readonly LoadedRule[], named: string, folders: string): LoadedRule {
  const places = foldersIn(folders).flatMap((dir) => [dir, dirname(resolve(dir))]);
  const isOf = (file: string) => file === named || places.some((dir) => resolve(dir, file) === resolve(named));
  const rule = rules.find(({ id }) => id === named) ?? rules.find(({ file }) => isOf(file));
  if (rule) return rule;
  const ids = rules.map(({ id }) => id);
  throw new AppError('not_found', `\`${folders}\` has no rule and no file \`${named}\`${didYouMean(named, ids)}`);
}

export async function rulesSchemaCommand(io: Io, options: CommonOptions): Promise<number> {
  const format = outputOf(options, ['json'] as const, 'json');
  write(io, { ...options, format }, JSON.stringify(rulesJsonSchema(), null, 2));
  return 0;
}
