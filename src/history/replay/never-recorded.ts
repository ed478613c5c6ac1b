// history: what rules read and the record does not have. In: each run's frame, the world at the end. Out: paths and sources that nobody recorded,
// with the rules that read them; stretches in which the recorded runs did not read what other rules or their actions need.
import type { KnownTraits } from '../../domain/action.ts';
import { AppError } from '../../domain/errors.ts';
import type { HistoryGap, HistoryQuery, HistoryReader, RunFrame } from '../../domain/recorded-history.ts';
import type { Replay, ReplayedUnread } from '../../domain/replay.ts';
import { SOURCE_OF, type SubjectKind } from '../../domain/subjects.ts';
import { timeText } from '../../domain/time-text.ts';
import type { LoadedRule } from '../../evaluate/index.ts';
import { readsBundles, unpagedForActions } from '../../run/reading-needs.ts';
import type { RecordedWorld } from './recorded-world.ts';

interface Unread {
  fromMs: number;
  toMs: number;
}

/** What a rule or its action is told: a source; who owns devices, and which devices users have; the members of bundles. */
type Need = ReplayedUnread['list'];

/** What of a frame shows what the run read. */
type ReadFrame = Pick<RunFrame, 'run' | 'part' | 'sources'>;

const JOINS = { devices: 'Emails', users: 'SerialNumbers' } as const;

const NEED_WORDS: Record<Need, string> = {
  devices: 'devices were',
  users: 'users were',
  services: 'services were',
  events: 'the event log was',
  Emails: 'the owners of devices were',
  SerialNumbers: 'the devices of users were',
  bundles: 'bundles were',
};

export class NeverRecorded {
  /** With the rules that need it. */
  private readonly needed = new Map<Need, string[]>();
  private readonly read = new Set<Need>();
  private readonly unread = new Map<Need, Unread>();
  /** In all. */
  private readonly missed = new Map<Need, Unread & { runs: number }>();
  private wholeRuns = 0;
  private readonly gaps: HistoryGap[] = [];

  constructor(
    private readonly rules: readonly LoadedRule[],
    traits: KnownTraits,
  ) {
    for (const rule of rules) {
      const joins = [...unpagedForActions([rule], traits)].map((source) => JOINS[source]);
      const bundles = readsBundles(rule.then, traits) ? (['bundles'] as const) : [];
      for (const need of new Set<Need>([...rule.sources, ...joins, ...bundles]))
        this.needed.set(need, [...(this.needed.get(need) ?? []), rule.id]);
    }
  }

  /** A run over all active rules reads what these need: other rules may need more. */
  run(frame: ReadFrame, areBundlesTold = true): void {
    const { startedAt, scoped } = frame.run;
    if (scoped || frame.part) return;
    this.wholeRuns += 1;
    for (const need of this.needed.keys()) {
      if (need === 'bundles' ? areBundlesTold : isTold(need, frame.sources)) {
        this.read.add(need);
        this.endUnread(need);
      } else {
        const { fromMs } = this.unread.get(need) ?? { fromMs: startedAt };
        this.unread.set(need, { fromMs, toMs: startedAt });
        const missed = this.missed.get(need) ?? { fromMs: startedAt, runs: 0 };
        this.missed.set(need, { fromMs: missed.fromMs, toMs: startedAt, runs: missed.runs + 1 });
      }
    }
  }

  /** What other rules or their actions need, and runs did not read. */
  unreadLists(): ReplayedUnread[] {
    return [...this.missed].map(([list, missed]) => {
      const found = { list, rules: [...(this.needed.get(list) ?? [])].sort(), ...missed, of: this.wholeRuns };
      return { ...found, text: textOf(found) };
    });
  }

  /** Stretches without a source that was read at other times. */
  finishGaps(): HistoryGap[] {
    for (const need of [...this.unread.keys()]) if (this.read.has(need)) this.endUnread(need);
    return this.gaps;
  }

  paths(world: RecordedWorld): Replay['neverRecorded'] {
    const rules = new Map<string, Set<string>>();
    const add = (path: string, rule: string) => rules.set(path, (rules.get(path) ?? new Set()).add(rule));
    for (const [need, ids] of this.needed) if (!this.read.has(need)) for (const id of ids) add(need, id);
    for (const { id, subject, reads } of this.rules) {
      const of: [SubjectKind, Iterable<string>][] = [
        [subject, reads.record],
        ['user', reads.users],
        ['device', reads.devices],
      ];
      for (const [kind, paths] of of) {
        if (!this.read.has(SOURCE_OF[kind])) continue;
        for (const path of paths) if (!world.isRecorded(kind, path)) add(path, id);
      }
    }
    return [...rules]
      .map(([path, ids]) => ({ path, rules: [...ids].sort() }))
      .sort((a, b) => (a.path < b.path ? -1 : 1));
  }

  private endUnread(need: Need): void {
    const stretch = this.unread.get(need);
    if (!stretch) return;
    this.unread.delete(need);
    const when = `from ${timeText(stretch.fromMs)} to ${timeText(stretch.toMs)}`;
    const ids = this.needed.get(need)?.join(', ');
    const then = need === 'Emails' || need === 'SerialNumbers' ? 'these were held then' : 'these could not be judged';
    const text = `${NEED_WORDS[need]} not read ${when}: no active rule needed that; rules that do: ${ids}; ${then}`;
    this.gaps.push({ ...stretch, cause: 'not_recorded', text });
  }
}

/** Before a replay: what these rules or their actions need, and recorded runs did not read. Members of bundles are left to the replay. */
export async function unreadLists(
  reader: Pick<HistoryReader, 'items'>,
  rules: readonly LoadedRule[],
  {
    fromMs,
    toMs,
    actions,
    signal,
  }: Pick<HistoryQuery, 'fromMs' | 'toMs'> & {
    actions: KnownTraits;
    signal?: AbortSignal | undefined;
  },
): Promise<ReplayedUnread[]> {
  const never = new NeverRecorded(rules, actions);
  for await (const item of reader.items({ fromMs, toMs, framesOnly: true })) {
    if (signal?.aborted) throw new AppError('stopped', 'the replay was stopped');
    if (item.kind === 'run') never.run(item.run.frame);
  }
  return never.unreadLists();
}

/** `users were not read by any of 12 runs: … is unknown for everybody; TRUSTWARD_RECORD=users has runs record them`. */
function textOf({ list, rules, runs, of, fromMs, toMs }: Omit<ReplayedUnread, 'text'>): string {
  const isAll = runs === of;
  const by = isAll ? 'by any recorded run' : `by ${runs} of ${of} runs, ${timeText(fromMs)} to ${timeText(toMs)}`;
  const [those, are] = [rules.map((rule) => `\`${rule}\``).join(', '), rules.length === 1 ? 'is' : 'are'];
  const isOfAction = list === 'Emails' || list === 'SerialNumbers';
  const what = isOfAction ? `${are} held` : list === 'bundles' ? `cannot be judged` : `${are} unknown for everybody`;
  const todo =
    isOfAction || list === 'bundles'
      ? 'an active rule with this action, also in mode `dry-run`, has runs read it'
      : `\`TRUSTWARD_RECORD=${list}\` has runs record ${list === 'events' ? 'it' : 'them'} from now on`;
  return `${NEED_WORDS[list]} not read ${by}, so ${those} ${what}${isAll ? '' : ' then'}; ${todo}`;
}

/** Of version 1, only unpaged lists name owners, and the devices of users. */
function isTold(need: Exclude<Need, 'bundles'>, sources: RunFrame['sources']): boolean {
  if (need !== 'Emails' && need !== 'SerialNumbers') return sources[need].state !== 'skipped';
  const { state, form, lists } = sources[need === 'Emails' ? 'devices' : 'users'];
  return state !== 'skipped' && (form !== 'paged' || lists === 'v2');
}
