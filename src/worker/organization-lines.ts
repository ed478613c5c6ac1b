// worker: the organizations as people choose from them, and what is wrong with each: with its credential, webhooks or rules. In: organizations, their
// files, looked at now and then. Out: one line for each. INVARIANT: a line is answered over HTTP: the paths of files are for the log.
import { actionsWith } from '../act/actions.ts';
import { AppError } from '../domain/errors.ts';
import { giveWay } from '../domain/give-way.ts';
import type { Clock, Log } from '../domain/ports.ts';
import { KnownRules } from '../evaluate/index.ts';
import type { OrganizationLine } from '../http/index.ts';
import { refusalText } from '../report/refusal-text.ts';
import { BoundedRead } from '../rule-set/bounded-read.ts';
import { loadRuleFolder } from '../rule-set/rule-holder.ts';
import type { Organizations, WorkedOn } from './organizations.ts';

export type ProblemKind = 'credential' | 'webhooks' | 'rules';

export interface OrganizationProblem {
  organization: string;
  kind: ProblemKind;
}

/** So many sets of rules, and webhooks, are read for one look, those that were not read for longest; a set that many organizations have is one. */
const SETS_MAX = 200;
/** Neither is read more often. */
const SET_EVERY_MS = 15_000;
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
      .filter((id) => this.clock.monotonicMs() - readAtMs(id) >= SET_EVERY_MS)
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
      .filter(({ readAtMs }) => this.clock.monotonicMs() - readAtMs >= SET_EVERY_MS)
      .sort((one, other) => one.readAtMs - other.readAtMs);
    for (const set of due.slice(0, SETS_MAX)) await this.readSet(set);
  }

  private async readSet(set: RuleSet): Promise<void> {
    const { rulesDir, webhooks } = set.outline;
    const traits = actionsWith(webhooks);
    const before = set.problems?.join('\n');
    try {
      const read = (over: AbortSignal) => loadRuleFolder(rulesDir, traits, over, this.known);
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
