// cli: `init [DIR]`: lays out a new installation: settings, a file for the API key, the shipped rules in mode
// dry-run, a folder for data. In: a folder. Out: all of these or none; nothing is overwritten. It calls no API and
// opens no database.

import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { shellWord } from '../../base/text.ts';
import { AppError } from '../../domain/errors.ts';
import { ConfigReader } from '../../runtime/config/reader.ts';
import { type Io, writeText } from './io.ts';

// The settings of a new installation, as a file that a shell, systemd (EnvironmentFile=) and people can read.

interface InstallationPlaces {
  /** Undefined: the operator has to fill it in. */
  address: string | undefined;
  key: string;
  database: string;
  rules: string;
}

/** Paths are absolute: a command finds the same database from every folder. */
function environmentFile({ address, key, database, rules }: InstallationPlaces): string {
  return `# Settings of this installation. A shell loads them with \`set -a; . FILE; set +a\`, systemd with EnvironmentFile=.
# \`trustward doctor\` checks them. docs/configuration.md lists all settings, docs/operating.md their defaults.

# The Management API: the bare base address, without /api/v1.
TRUSTWARD_API_URL=${address === undefined ? '' : shellWord(address)}

# The file that holds the API key, and nothing else. A key that may only read is enough until something is to be changed.
TRUSTWARD_API_KEY_FILE=${shellWord(key)}

# What it keeps, and what it judges by.
TRUSTWARD_DB=${shellWord(database)}
TRUSTWARD_RULES=${shellWord(rules)}

# The most that any rule may do in a daemon or run: dry-run (nothing is changed), approve (what a person approved), enforce.
# dry-run if unset. A rule's own mode counts too, and the rules here begin in dry-run.
#TRUSTWARD_MODE=dry-run

# When the daemon runs (cron), how often it looks at the event log between two runs (0s: never), and where its endpoint listens.
#TRUSTWARD_SCHEDULE='*/5 * * * *'
#TRUSTWARD_WATCH=30s
#TRUSTWARD_LISTEN=127.0.0.1:8080

# What one action may do at most: attempts in a run, and in 24 hours; the larger of a number and a share of the subjects.
#TRUSTWARD_CEILING_RUN=50,5%
#TRUSTWARD_CEILING_DAY=100,10%

# Who is alerted when something needs a person: docs/actions.md, under Webhooks.
#TRUSTWARD_WEBHOOKS=webhooks.yaml
#TRUSTWARD_WEBHOOK_HOSTS=hooks.example.com
#TRUSTWARD_ALERTS_TO=security
`;
}

const SHIPPED_RULES = new URL('../../../rules/', import.meta.url);

interface InitOptions {
  apiUrl?: string;
}

interface Laid {
  env: string;
  key: string;
  rules: string;
  data: string;
}

export async function initCommand(io: Io, folder: string | undefined, { apiUrl }: InitOptions): Promise<number> {
  const address = addressOf(apiUrl);
  const dir = resolve(folder ?? '.');
  const at = { env: 'trustward.env', key: 'api-key', rules: 'rules', data: 'data' };
  const laid = Object.fromEntries(Object.entries(at).map(([what, name]) => [what, join(dir, name)])) as unknown as Laid;
  refuseTaken(laid);
  const count = layOut(dir, laid, address);
  writeText(io, `${nextSteps(laid, count, address).join('\n')}\n`);
  return 0;
}

/** Errors: AppError `config` for an invalid address. */
function addressOf(apiUrl: string | undefined): string | undefined {
  const reader = new ConfigReader({});
  const address = reader.baseUrl(apiUrl);
  reader.finish();
  return address;
}

/** Before anything is made: half an installation is worse than none. */
function refuseTaken({ env, key, rules, data }: Laid): void {
  const rule = rulesIn(dirname(env))[0];
  if (rule !== undefined)
    throw new AppError(
      'usage',
      `\`${rule}\` is a rule, and an installation lies beside a folder of rules, not in it: give another folder`,
    );
  const isFilled = (folder: string) => existsSync(folder) && readdirSync(folder).length > 0;
  const taken = [env, key].find(existsSync) ?? [rules, data].find(isFilled);
  if (taken === undefined) return;
  throw new AppError('usage', `\`${taken}\` exists already and is not overwritten: give another folder`);
}

/** Files of this folder that look like a rule. */
function rulesIn(folder: string): string[] {
  if (!existsSync(folder)) return [];
  const files = readdirSync(folder, { withFileTypes: true }).filter(
    (one) => one.isFile() && /\.(ya?ml|json)$/.test(one.name),
  );
  return files
    .map(({ name }) => join(folder, name))
    .filter((file) => /(?:^|[{,])\s*"?when"?\s*:/m.test(readFileSync(file, 'utf8').slice(0, RULE_MAX)));
}

const RULE_MAX = 100_000;

function layOut(dir: string, laid: Laid, address: string | undefined): number {
  const made: string[] = [];
  const folder = (path: string, mode: number) => {
    const first = mkdirSync(path, { recursive: true, mode });
    if (first !== undefined) made.push(first);
  };
  const file = (path: string, text: string, mode: number) => {
    writeFileSync(path, text, { flag: 'wx', mode });
    made.push(path);
  };
  try {
    folder(dir, 0o755);
    folder(laid.data, 0o700);
    folder(laid.rules, 0o755);
    const shipped = readdirSync(SHIPPED_RULES, { withFileTypes: true }).filter((entry) => entry.isFile());
    for (const { name } of shipped) file(join(laid.rules, name), onTrial(name), 0o644);
    file(laid.key, '', 0o600);
    const database = join(laid.data, 'trustward.db');
    file(laid.env, environmentFile({ address, key: laid.key, database, rules: laid.rules }), 0o600);
    return shipped.filter(({ name }) => name.endsWith('.yaml')).length;
  } catch (error) {
    for (const path of made.reverse()) rmSync(path, { recursive: true, force: true });
    const { code } = error as NodeJS.ErrnoException;
    if (code === undefined) throw error;
    throw new AppError('usage', `\`${dir}\` cannot be laid out (${code}): give a folder that can be written`);
  }
}

/** A shipped file; a rule is set to mode `dry-run`, with a note of its shipped mode. */
function onTrial(name: string): string {
  const text = readFileSync(new URL(name, SHIPPED_RULES), 'utf8');
  return text.replace(/^mode:\s*["']?(approve|enforce)\b.*$/m, 'mode: dry-run # shipped as $1');
}

function nextSteps({ env, key, rules, data }: Laid, count: number, address: string | undefined): string[] {
  const edit = [`\${EDITOR:-vi} ${shellWord(env)}`, 'give the address of your console in TRUSTWARD_API_URL'];
  const paste = [`cat > ${shellWord(key)}`, 'paste the API key, Enter, Ctrl-D; one that may only read will do'];
  const check = [`set -a; . ${shellWord(env)}; set +a; trustward doctor`, 'load the settings and check them'];
  const run = ['trustward run --mode dry-run', 'see what the rules would do; nothing is changed'];
  const next = address === undefined ? [edit, paste, check] : [paste, check, run];
  return [
    `${env}`,
    '      settings, for you alone (0600)',
    `${key}`,
    '      for the API key (0600), empty yet',
    `${rules}`,
    `      ${count} rules in mode dry-run: they report, and change nothing`,
    `${data}`,
    '      for the database',
    '',
    'Next:',
    ...next.flatMap(([command, purpose]) => [`  ${command}`, `      ${purpose}`]),
  ];
}
