// history: in which stretches of a replay a list was not trusted. In: the readings of whole runs, one after the other. Out: each stretch with its
// reason and the rules that read the list.
import type { RunFrame } from '../../domain/recorded-history.ts';
import type { ReplayedDistrust } from '../../domain/replay.ts';
import type { Rule } from '../../domain/rule.ts';
import { isUsable } from '../../domain/snapshot.ts';
import { SOURCES, type Source } from '../../domain/subjects.ts';

export class TallyTrust {
  private readonly found: Omit<ReplayedDistrust, 'rules'>[] = [];
  /** Those that the last run is in. */
  private readonly open = new Map<Source, Omit<ReplayedDistrust, 'rules'>>();

  run(atMs: number, sources: RunFrame['sources']): void {
    for (const source of SOURCES) {
      const reading = sources[source];
      // A run over chosen rules may have read other lists.
      if (reading.state === 'skipped') continue;
      const [reason] = reading.reasons;
      const open = this.open.get(source);
      if (isUsable(reading) || !reason) this.open.delete(source);
      else if (open?.code === reason.code) {
        open.toMs = atMs;
        open.runs += 1;
      } else {
        const { code, text } = reason;
        const stretch = { source, code, text, fromMs: atMs, toMs: atMs, runs: 1 };
        this.open.set(source, stretch);
        this.found.push(stretch);
      }
    }
  }

  /** Lists that none of the rules reads are left out. */
  finish(rules: readonly Rule[]): ReplayedDistrust[] {
    return this.found.flatMap((stretch) => {
      const reading = rules.filter(({ sources }) => sources.includes(stretch.source)).map(({ id }) => id);
      return reading.length === 0 ? [] : [{ ...stretch, rules: reading.sort() }];
    });
  }
}
