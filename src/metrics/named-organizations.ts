// metrics: which organizations are labels. In: an organization, and all that there are. Out: its id, or the name of all others. INVARIANT: at most so
// many names in the life of a process, whatever organizations come and go: a series that was counted is not forgotten.
export const NAMED_MAX = 100;
export const OTHERS = '(others)';

export class NamedOrganizations {
  private readonly named = new Set<string>();

  /** `all`: those that are configured now. Of them the first by id have a name, so that processes name the same ones. */
  labelOf(organization: string, all: readonly string[]): string {
    if (this.named.has(organization)) return organization;
    if (this.named.size >= NAMED_MAX) return OTHERS;
    const before = all.filter((id) => id < organization).length;
    if (before >= NAMED_MAX) return OTHERS;
    this.named.add(organization);
    return organization;
  }
}
