// conformance: runs every rule against a server, one line each.
// In: CONFORMANCE_URL, CONFORMANCE_API_KEY, and if there are CONFORMANCE_REFRESH_TOKEN, CONFORMANCE_ADMIN_TOKEN, CONFORMANCE_LIMITED_KEY;
// CONFORMANCE_WRITE=yes permits rules that change (and delete!) things. Out: lines, and exit code 1 when a rule failed.
import { pathToFileURL } from 'node:url';
import { RULES } from './rules.ts';
import { type Credentials, NotChecked, openTarget, type Rule, type Target } from './target.ts';

export type Result = { rule: Rule; outcome: 'passed' | 'failed' | 'not checked'; why: string };

export async function checkRule(target: Target, rule: Rule): Promise<Result> {
  if (rule.writes && !target.credentials.mayWrite) return { rule, outcome: 'not checked', why: 'it changes something' };
  try {
    await rule.check(target);
    return { rule, outcome: 'passed', why: '' };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return { rule, outcome: error instanceof NotChecked ? 'not checked' : 'failed', why };
  }
}

/** The credentials in the environment; undefined when no server is named. */
export function credentialsIn(env: Record<string, string | undefined>): Credentials | undefined {
  const { CONFORMANCE_URL: baseUrl, CONFORMANCE_API_KEY: apiKey } = env;
  if (!baseUrl || !apiKey) return undefined;
  return {
    baseUrl: baseUrl.replace(/\/$/, ''),
    apiKey,
    refreshToken: env.CONFORMANCE_REFRESH_TOKEN,
    adminToken: env.CONFORMANCE_ADMIN_TOKEN,
    limitedKey: env.CONFORMANCE_LIMITED_KEY,
    mayWrite: env.CONFORMANCE_WRITE === 'yes',
  };
}

async function main(): Promise<void> {
  const credentials = credentialsIn(process.env);
  if (!credentials) {
    process.stderr.write('name the server: CONFORMANCE_URL and CONFORMANCE_API_KEY\n');
    process.exitCode = 2;
    return;
  }
  const target = openTarget(credentials);
  const tally = { passed: 0, failed: 0, 'not checked': 0 };
  for (const rule of RULES) {
    const { outcome, why } = await checkRule(target, rule);
    tally[outcome]++;
    process.stdout.write(
      `${outcome.padEnd(11)} ${rule.section}: ${rule.line}${why === '' ? '' : ` (${why.split('\n')[0]})`}\n`,
    );
  }
  process.stdout.write(`${tally.passed} passed, ${tally.failed} failed, ${tally['not checked']} not checked\n`);
  process.exitCode = tally.failed > 0 ? 1 : 0;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) await main();
