// evaluate: one reading of a list, or of a few subjects, as rules that look back take it over: what changed of each, and who is gone. In: records.
// Out: one run's worth of changes. INVARIANT: nothing moves before `takeOver`: an untrusted or repeated reading leaves no trace.

import type { FactChange } from '../../domain/fact-change.ts';
import { type Facts, ownText } from '../../domain/facts.ts';
import type { LookBack, LookBackPass } from '../../domain/look-back.ts';
import { ID_FIELD, type SubjectKind, type SubjectRef } from '../../domain/subjects.ts';
import { type Entry, type Kept, valueIn } from './kept.ts';
import { isSame } from './track.ts';

interface Tracks extends Pick<LookBack, 'isFilled' | 'observe'> {
  keptOf(kind: SubjectKind): readonly Kept[];
  entriesOf(kind: SubjectKind): ReadonlyMap<string, Entry>;
}

export class Pass implements LookBackPass {
  private readonly changes: FactChange[] = [];
  private readonly subjects: SubjectRef[] = [];

  constructor(
    private readonly tracks: Tracks,
    private readonly kind: SubjectKind,
    private readonly atMs: number,
    private readonly form: 'whole' | 'single',
    private readonly turn: number,
  ) {}

  accept(record: Facts): void {
    const { tracks, kind } = this;
    const id = ownText(record, ID_FIELD[kind]) ?? '';
    const entry = tracks.entriesOf(kind).get(id);
    if (entry) entry.turn = this.turn;
    if (this.form === 'single') this.subjects.push({ kind, id });
    tracks.keptOf(kind).forEach((kept, at) => {
      const track = entry?.tracks[at];
      const before = track?.isThere ? track.value : undefined;
      const value = valueIn(record, kept);
      const same = before === undefined || value === undefined ? before === value : isSame(before, value);
      if (!same) this.changes.push({ kind, subject: id, path: kept.label, value });
    });
  }

  takeOver(): void {
    const { tracks, kind, atMs, form, turn } = this;
    if (!tracks.isFilled) return;
    const gone: FactChange[] = [];
    if (form === 'whole') {
      for (const [subject, entry] of tracks.entriesOf(kind))
        if (entry.turn !== turn) gone.push({ kind, subject, path: '', value: undefined });
    }
    const read = form === 'whole' ? [kind] : [];
    tracks.observe({ kind: 'run', run: { atMs, read, singly: this.subjects, changes: [...gone, ...this.changes] } });
  }
}
