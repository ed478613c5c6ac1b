// organizations: the organizations that are worked on: loaded whole or not at all. A changed folder that cannot be loaded, or not in time, leaves the
// last good set in force. In: a folder, the environment. Out: organizations. A file that is gone ends the work on its organization; nothing is deleted.
import type { Environment } from '../config/config.ts';
import { AppError } from '../domain/errors.ts';
import type { Clock, Log } from '../domain/ports.ts';
import { BoundedRead } from '../rule-set/bounded-read.ts';
import { loadOrganizations, type Organization } from './load-organizations.ts';

/** A disk or network mount that does not answer is not waited for any longer. */
const LOAD_MS_MAX = 30_000;

type Found = { organizations: readonly Organization[] } | { error: AppError; isLate: boolean };

export class OrganizationHolder {
  private current: ReadonlyMap<string, Organization> | undefined;
  private readonly reads: BoundedRead;
  /** What was wrong with the folder when last loaded, one line each; undefined when its files are in force. */
  refusal: readonly string[] | undefined;
  /** The folder could not be read in time when last loaded: it may be in order without another change. */
  isLate = false;

  constructor(
    private readonly folder: string,
    private readonly base: Environment,
    clock: Pick<Clock, 'sleep'>,
    private readonly log: Log,
  ) {
    this.reads = new BoundedRead(clock, LOAD_MS_MAX);
  }

  /** In the order of their ids. */
  all(): readonly Organization[] {
    return [...this.loaded().values()];
  }

  find(id: string): Organization | undefined {
    return this.loaded().get(id);
  }

  /** The first time. Errors: AppError `config` with every mistake. */
  async load(): Promise<void> {
    const found = await this.look();
    this.take(found);
    if ('error' in found) throw found.error;
  }

  /** Loads again. Returns whether the folder could be read in time. Errors: AppError `stopped` by the signal. */
  async reload(signal?: AbortSignal): Promise<boolean> {
    this.take(await this.look(signal));
    return !this.isLate;
  }

  private loaded(): ReadonlyMap<string, Organization> {
    if (!this.current) throw new AppError('internal', 'organizations were used before they were loaded');
    return this.current;
  }

  private async look(signal?: AbortSignal): Promise<Found> {
    try {
      const load = async (over: AbortSignal) => ({
        organizations: await loadOrganizations(this.folder, this.base, over),
      });
      const found = await this.reads.of(load, signal);
      if (found !== 'late') return found;
      const where = `the folder of organizations \`${this.folder}\` could not be read within ${LOAD_MS_MAX / 1_000} s`;
      const error = new AppError('config', `${where}: look whether its disk or network mount answers`);
      return { error, isLate: true };
    } catch (error) {
      if (error instanceof AppError && error.code === 'config') return { error, isLate: false };
      throw error;
    }
  }

  private take(found: Found): void {
    const [before, refusedBefore] = [this.current, this.refusal?.join('\n')];
    this.isLate = 'error' in found && found.isLate;
    this.refusal = 'error' in found ? found.error.message.split('\n') : undefined;
    if ('error' in found) {
      if (before === undefined || found.error.message === refusedBefore) return;
      const problems = found.error.message.replaceAll('\n', '; ');
      this.log.error({ folder: this.folder }, `organizations were refused, the last good set stays: ${problems}`);
      return;
    }
    this.current = new Map(found.organizations.map((organization) => [organization.id, organization]));
    if (before) this.report(before, this.current, refusedBefore !== undefined);
  }

  private report(
    before: ReadonlyMap<string, Organization>,
    now: ReadonlyMap<string, Organization>,
    wasRefused: boolean,
  ): void {
    const added = [...now.keys()].filter((id) => !before.has(id));
    const gone = [...before.keys()].filter((id) => !now.has(id));
    const text = `organizations loaded: ${now.size}`;
    if (added.length + gone.length > 0 || wasRefused) this.log.info({ added, gone }, text);
    for (const id of gone)
      this.log.warn({ organization: id }, `the file of organization \`${id}\` is gone: it is no longer worked on`);
  }
}
