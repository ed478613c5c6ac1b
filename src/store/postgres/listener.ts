// store: what other processes append to the audits of organizations, as one connection of this process hears it. Out: calls for each
// organization; for all of them when a notice may have been missed.
import type { Hearing } from '../../domain/listening.ts';

/** `kinds`: the first words of the kinds of what was appended; undefined: not known. */
export type Heard = (kinds: ReadonlySet<string> | undefined) => void;

/** Listens on `CHANNEL`. */
export class AuditListener implements Hearing {
  private readonly listeners = new Map<string, Set<Heard>>();

  /** Returns what ends it. */
  on(organization: string, listener: Heard): () => void {
    const all = this.listeners.get(organization) ?? new Set();
    this.listeners.set(organization, all.add(listener));
    return () => {
      all.delete(listener);
      if (all.size === 0 && this.listeners.get(organization) === all) this.listeners.delete(organization);
    };
  }

  heard(payload: string): void {
    const [organization = '', ...kinds] = payload.split(' ');
    const words = new Set(kinds);
    for (const listener of [...(this.listeners.get(organization) ?? [])]) listener(words);
  }

  missed(): void {
    for (const all of [...this.listeners.values()]) for (const listener of [...all]) listener(undefined);
  }
}
