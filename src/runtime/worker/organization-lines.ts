// worker: the organizations as people choose from them, and what is wrong with each: with its credential, webhooks or rules. In: organizations, their
// files, looked at now and then. Out: one line for each. INVARIANT: a line is answered over HTTP: the paths of files are for the log.

import { timeText } from '../../base/time.ts';
import { giveWay } from '../../base/turns.ts';
import { DEFAULT_ORGANIZATION } from '../../domain/database.ts';
import { AppError, lineOf } from '../../domain/errors.ts';
import { areForgotten, type JobCount, type Jobs, WAITS_LONG_MS } from '../../domain/jobs.ts';
import type { Clock, Log } from '../../domain/ports.ts';
import { actionsWith } from '../../engine/act/actions.ts';
import type { ReadyCheck } from '../../faces/http/deps.ts';
import type { OrganizationLine } from '../../faces/http/organizations/opened.ts';
import { refusalText } from '../../faces/report/fact-text.ts';
import { BoundedRead, loadRuleFolder, watchFolders } from '../../rules/active/rule-holder.ts';
import { KnownRules } from '../../rules/load/read-rule.ts';
import type { PostgresServer } from '../compose/postgres.ts';
import { type Config, readConfig, webhookFaultsIn } from '../config/config.ts';
import type { Environment, Flags, MayLack } from '../config/name-reader.ts';
import {
  configOf,
  credentialFaults,
  credentialFaultsIn,
  OrganizationHolder,
  webhookFaults,
} from '../organizations/load-organizations.ts';

// The organizations that a process works on: those of a folder, or the one that the environment configures.

export interface WorkedOn {
  id: string;
  name: string;
  /** What of its configuration needs no credential. */
  outline: Pick<Config, 'schedule' | 'watchMs' | 'mode' | 'rulesDir' | 'rulesSigners'> & {
    webhooks: readonly string[];
    mails: boolean;
    readsSources: boolean;
    asksForSignals: boolean;
  };
}

export interface Organizations {
  all(): readonly WorkedOn[];
  /** With its credentials and webhooks, as their files are now. Errors: AppError `config`, `not_found` for one that is not configured. */
  configOf(id: string, mayLack?: MayLack): Config;
  /** What keeps its credentials from being read, with the paths of files: for the log. */
  credentialFaults(id: string): readonly string[];
  /** The same of its webhooks; empty for one that is not configured. */
  webhookFaults(id: string): readonly string[];
  /** Undefined: the environment configures one. */
  holder: OrganizationHolder | undefined;
  stop(): Promise<void>;
}

/** Errors: AppError `config` with every mistake. */
export async function openOrganizations(
  env: Environment,
  flags: Flags,
  clock: Clock,
  log: Log,
): Promise<Organizations> {
  const folder = env.TRUSTWARD_ORGANIZATIONS?.trim() || undefined;
  if (folder === undefined) return onlyOne(env, flags);
  const holder = new OrganizationHolder(folder, env, clock, log);
  await holder.load();
  const found = (id: string) => {
    const organization = holder.find(id);
    if (!organization) throw notConfigured(id);
    return organization;
  };
  const watch = watchFolders(
    [folder],
    clock,
    (signal) => holder.reload(signal),
    (error) => log.error({}, `the organizations could not be reloaded: ${lineOf(error)}`),
  );
  return {
    all: () => holder.all(),
    configOf: (id, mayLack) => configOf(found(id), env, flags, undefined, mayLack),
    credentialFaults: (id) => credentialFaults(found(id)),
    webhookFaults: (id) => {
      const organization = holder.find(id);
      return organization ? webhookFaults(organization, env) : [];
    },
    holder,
    stop: () => watch.stop(),
  };
}

function onlyOne(env: Environment, flags: Flags): Organizations {
  const read = (id: string, mayLack?: MayLack) => {
    if (id !== DEFAULT_ORGANIZATION) throw notConfigured(id);
    return readConfig(env, flags, DEFAULT_ORGANIZATION, mayLack);
  };
  const { schedule, watchMs, mode, rulesDir, rulesSigners, notify, mail, sources, signals } =
    read(DEFAULT_ORGANIZATION);
  const [webhooks, mails] = [[...notify.webhooks.keys()], mail.smtp !== undefined];
  const outline = {
    schedule,
    watchMs,
    mode,
    rulesDir,
    rulesSigners,
    webhooks,
    mails,
    readsSources: sources.folder !== undefined,
    asksForSignals: signals.hosts.length > 0,
  };
  const one = { id: DEFAULT_ORGANIZATION, name: DEFAULT_ORGANIZATION, outline };
  return {
    all: () => [one],
    configOf: read,
    credentialFaults: () => credentialFaultsIn(env),
    webhookFaults: () => webhookFaultsIn(env),
    holder: undefined,
    stop: async () => {},
  };
}

function notConfigured(id: string): AppError {
  return new AppError('not_found', `organization \`${id}\` is not configured (any longer)`);
}

type ProblemKind = 'credential' | 'webhooks' | 'rules';

interface OrganizationProblem {
  organization: string;
  kind: ProblemKind;
}

/** So many sets of rules, and webhooks, are read for one look, those that were not read for longest; a set that many organizations have is one. */
const SETS_MAX = 200;
/** Nothing is read more often than this, and many are read less often: as many of them take as long together. */
const [EVERY_MS, EACH_MS] = [4_000, 75];
const everyMs = (count: number): number => Math.max(EVERY_MS, EACH_MS * count);
/** A disk or network mount that does not answer is not waited for any longer. */
const LOAD_MS_MAX = 10_000;

interface RuleSet {
  outline: WorkedOn['outline'];
  reads: BoundedRead;
  readAtMs: number;
  /** One line for each problem. */
  problems: readonly string[] | undefined;
}

interface Webhooks {
  readAtMs: number;
  /** Undefined: nothing is wrong. */
  faults: string | undefined;
}

export class OrganizationLines {
  private credentials = new Map<string, string>();
  private readonly webhooks = new Map<string, Webhooks>();
  private shown: ReadonlyMap<string, string> = new Map();
  private readonly sets = new Map<string, RuleSet>();
  private readonly known = new KnownRules();
  private reading: Promise<void> | undefined;

  constructor(
    private readonly organizations: Pick<Organizations, 'all' | 'credentialFaults' | 'webhookFaults' | 'holder'>,
    private readonly clock: Pick<Clock, 'monotonicMs' | 'sleep'>,
    private readonly log: Log,
  ) {
    this.look();
  }

  now(): OrganizationLine[] {
    return this.organizations.all().map(({ id, name }) => ({ id, name, problem: this.shown.get(id) }));
  }

  problems(): OrganizationProblem[] {
    return this.organizations
      .all()
      .flatMap(({ id, outline }) => [
        ...(this.credentials.has(id) ? [{ organization: id, kind: 'credential' as const }] : []),
        ...(this.hasWebhookFault(id) ? [{ organization: id, kind: 'webhooks' as const }] : []),
        ...(this.refusalOf(outline) ? [{ organization: id, kind: 'rules' as const }] : []),
      ]);
  }

  /** Whether the credential or the webhooks of one cannot be read, as it was at the last look. */
  lacksFiles(id: string): boolean {
    return this.credentials.has(id) || this.hasWebhookFault(id);
  }

  /** The command that names the credential of one which cannot be read; undefined: none lacked at the last look. */
  lackNamedBy(id: string): string | undefined {
    return this.credentials.has(id) ? this.naming() : undefined;
  }

  private naming(): string {
    return this.organizations.holder ? 'trustward organizations check' : 'trustward doctor';
  }

  /** Credentials at once; the rest beside everything else, which must not wait for a disk. */
  look(): void {
    const found = new Map<string, string>();
    for (const { id } of this.organizations.all()) {
      const faults = this.organizations.credentialFaults(id).join('; ');
      if (faults === '') continue;
      found.set(id, faults);
      if (this.credentials.get(id) !== faults)
        this.log.error({ organization: id }, `organization \`${id}\`: its credential cannot be read: ${faults}`);
    }
    this.credentials = found;
    this.show();
    const read = () => this.readWebhooks().then(() => this.readSets());
    this.reading ??= read().finally(() => {
      this.reading = undefined;
      this.show();
    });
  }

  /** Every request asks for the lines. */
  private show(): void {
    const all = this.organizations.all().map((one) => [one.id, this.problemOf(one)] as const);
    this.shown = new Map(all.filter((one): one is [string, string] => one[1] !== undefined));
  }

  private problemOf({ id, outline }: WorkedOn): string | undefined {
    const refusal = this.refusalOf(outline);
    const parts = [
      ...(this.credentials.has(id) ? [`a credential cannot be read; \`${this.naming()}\` names the file`] : []),
      ...(this.hasWebhookFault(id)
        ? [`its webhooks cannot be used, so nobody is alerted; \`${this.naming()}\` and the log have the details`]
        : []),
      ...(refusal ? [`rules: ${refusalText(refusal)}; \`trustward rules check\` and the log have the details`] : []),
    ];
    return parts.length === 0 ? undefined : parts.join('; ');
  }

  private hasWebhookFault(id: string): boolean {
    return this.webhooks.get(id)?.faults !== undefined;
  }

  private refusalOf(outline: WorkedOn['outline']): readonly string[] | undefined {
    return this.sets.get(keyOf(outline))?.problems;
  }

  /** Any of their files may have changed: that of the webhooks, a secret, a certificate. */
  private async readWebhooks(): Promise<void> {
    const ids = new Set(this.organizations.all().map(({ id }) => id));
    for (const id of this.webhooks.keys()) if (!ids.has(id)) this.webhooks.delete(id);
    const readAtMs = (id: string) => this.webhooks.get(id)?.readAtMs ?? Number.NEGATIVE_INFINITY;
    const due = [...ids]
      .filter((id) => this.clock.monotonicMs() - readAtMs(id) >= everyMs(ids.size))
      .sort((one, other) => readAtMs(one) - readAtMs(other));
    for (const id of due.slice(0, SETS_MAX)) {
      await giveWay();
      this.readWebhooksOf(id);
    }
  }

  private readWebhooksOf(id: string): void {
    const faults = this.organizations.webhookFaults(id).join('; ') || undefined;
    if (faults !== undefined && this.webhooks.get(id)?.faults !== faults)
      this.log.error({ organization: id }, `organization \`${id}\`: its webhooks cannot be used: ${faults}`);
    this.webhooks.set(id, { readAtMs: this.clock.monotonicMs(), faults });
  }

  private async readSets(): Promise<void> {
    const wanted = new Map(this.organizations.all().map(({ outline }) => [keyOf(outline), outline]));
    for (const key of this.sets.keys()) if (!wanted.has(key)) this.sets.delete(key);
    for (const [key, outline] of wanted) {
      const reads = new BoundedRead(this.clock, LOAD_MS_MAX);
      if (!this.sets.has(key))
        this.sets.set(key, { outline, reads, readAtMs: Number.NEGATIVE_INFINITY, problems: undefined });
    }
    const due = [...this.sets.values()]
      .filter(({ readAtMs }) => this.clock.monotonicMs() - readAtMs >= everyMs(this.sets.size))
      .sort((one, other) => one.readAtMs - other.readAtMs);
    for (const set of due.slice(0, SETS_MAX)) await this.readSet(set);
  }

  private async readSet(set: RuleSet): Promise<void> {
    const { rulesDir, rulesSigners, webhooks } = set.outline;
    const traits = actionsWith(webhooks);
    const before = set.problems?.join('\n');
    try {
      const read = (over: AbortSignal) =>
        loadRuleFolder(rulesDir, traits, { signal: over, known: this.known, signers: rulesSigners });
      const found = await set.reads.of(read);
      set.problems = found === 'late' ? [`the rules folder \`${rulesDir}\` could not be read in time`] : undefined;
    } catch (error) {
      set.problems = error instanceof AppError ? error.message.split('\n') : ['it cannot be read'];
    }
    set.readAtMs = this.clock.monotonicMs();
    const now = set.problems?.join('\n');
    if (now !== undefined && now !== before)
      this.log.error({ rulesDir }, `rules of \`${rulesDir}\` were refused: ${now.replaceAll('\n', '; ')}`);
  }
}

function keyOf({ rulesDir, webhooks }: WorkedOn['outline']): string {
  return JSON.stringify([rulesDir, webhooks]);
}

// What `/readyz` of each process on PostgreSQL shows, of a worker as of an endpoint. In: the state of the server, what
// waits for workers. Out: checks. INVARIANT: they are public: they name no organization.

/** Whoever asks for `/readyz` gives up soon, and a network that is cut says nothing for minutes. */
const ANSWER_MS = 3_000;
export const NO_ANSWER: ReadyCheck = { name: 'database', ok: false, text: 'PostgreSQL does not answer; see the log' };

/** Errors: those of `asked`; AppError `store_failed` when no answer comes. */
export async function inTime<T>(asked: Promise<T>, clock: Pick<Clock, 'sleep'>): Promise<T> {
  const isOver = new AbortController();
  const late = clock.sleep(ANSWER_MS, isOver.signal).then(() => {
    throw new AppError('store_failed', `PostgreSQL did not answer within ${ANSWER_MS / 1_000} s`);
  });
  try {
    return await Promise.race([asked, late]);
  } finally {
    isOver.abort();
    late.catch(() => {});
    asked.catch(() => {});
  }
}

interface Reached {
  pool: Pick<PostgresServer['pool'], 'demandWritable'>;
  health: Pick<PostgresServer['health'], 'fault'>;
}

export async function serverCheck({ pool, health }: Reached, clock: Pick<Clock, 'sleep'>): Promise<ReadyCheck> {
  const isReached = await inTime(pool.demandWritable(), clock).then(
    () => true,
    () => false,
  );
  const fault = health.fault();
  const since = fault && `${fault.text}; since ${timeText(fault.since)}`;
  const broken = since ?? (isReached ? undefined : NO_ANSWER.text);
  return { name: 'database', ok: broken === undefined, text: broken ?? 'it answers' };
}

/** INVARIANT: others on the same database are not told of: with one organization here, its tokens read this. Errors: as `inTime`. */
export async function jobsOf(
  organizations: Pick<Organizations, 'all'>,
  jobs: Pick<Jobs, 'counts'>,
  clock: Pick<Clock, 'sleep'>,
): Promise<readonly JobCount[]> {
  const own = new Set(organizations.all().map(({ id }) => id));
  return (await inTime(jobs.counts(), clock)).filter(({ organization }) => own.has(organization));
}

/** INVARIANT: it counts none. Workers keep the schedules, so nothing waits either when none runs. */
function textOf(counts: readonly JobCount[]): string {
  if (counts.some(({ underWay }) => underWay > 0)) return 'workers take them';
  if (counts.some(({ waiting }) => waiting > 0)) return `some wait, none for more than ${WAITS_LONG_MS / 1_000} s`;
  return 'none waits; `trustward doctor` shows whether workers run';
}

/** Reading and stopping need no worker, and one worker does not stand for all: it is a part of the work. */
export async function jobsCheck(
  jobs: Pick<Jobs, 'counts'>,
  clock: Pick<Clock, 'sleep'>,
  organization?: string,
): Promise<ReadyCheck> {
  const check = { name: 'jobs', isPartial: true as const };
  try {
    const counts = await inTime(jobs.counts(), clock);
    const own = counts.filter((one) => organization === undefined || one.organization === organization);
    if (!own.some(areForgotten)) return { ...check, ok: true, text: textOf(own) };
    const text = `some wait for more than ${WAITS_LONG_MS / 1_000} s: look whether workers (\`trustward worker\`) run and log no fault`;
    return { ...check, ok: false, text };
  } catch {
    return { ...check, ok: false, text: 'they cannot be read; see the log' };
  }
}
