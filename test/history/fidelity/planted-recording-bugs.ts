// fidelity: bugs planted on purpose into what was recorded; the proof must find each of them. In: the items of a healthy history. Out: those of a
// sick one. Nothing in the product knows of these.
import { type GivenTable, packRows, rowsOf } from '../../../src/domain/given-table.ts';
import type { FactChange } from '../../../src/domain/look-back.ts';
import type { HistoryItem, HistoryReader, RecordedRun } from '../../../src/domain/recorded-history.ts';
import { isUsable } from '../../../src/domain/snapshot.ts';
import { SOURCE_OF } from '../../../src/domain/subjects.ts';

type Sick = (run: RecordedRun, before: RecordedRun | undefined) => RecordedRun;
interface Planted {
  /** The first month that finds it. */
  seed: number;
  /** A fresh one for each history. */
  make(): Sick;
}

const some = (chance: number) => {
  let count = 0;
  return () => {
    count += 1;
    return count % chance === 0;
  };
};

/** In a hundred years. */
const ENDLESS_MS = 5_000_000_000_000;

export const PLANTED = {
  a_change_is_lost: {
    seed: 10,
    make: () => {
      const isLost = some(7);
      return changing((change) => (change.path !== '' && isLost() ? [] : [change]));
    },
  },
  a_removed_fact_is_kept: {
    seed: 10,
    make: () =>
      changing((change) => (change.path !== '' && change.value === undefined && !change.secret ? [] : [change])),
  },
  a_gone_subject_is_kept: {
    seed: 10,
    make: () => changing((change) => (change.path === '' && change.value === undefined ? [] : [change])),
  },
  the_clock_is_off_by_one_run: {
    seed: 10,
    make: () => (run, before) => withRun(run, { startedAt: (before ?? run).frame.run.startedAt }),
  },
  an_event_is_missed: {
    seed: 10,
    make: () => {
      const isMissed = some(4);
      return (run) => ({ ...run, events: run.events.filter(() => !isMissed()) });
    },
  },
  a_signal_is_missed: {
    seed: 10,
    make: () => {
      const isMissed = some(4);
      return (run) => ({
        ...run,
        events: run.events.filter(({ transmitter }) => transmitter === undefined || !isMissed()),
      });
    },
  },
  the_coverage_of_transmitters_is_lost: {
    seed: 10,
    make: () => (run) => {
      const coverage = run.frame.coverage.filter(({ transmitter }) => transmitter === undefined);
      return { ...run, frame: { ...run.frame, coverage } };
    },
  },
  a_silence_of_a_transmitter_is_not_told: {
    seed: 13,
    make: () => (run) => {
      const { coverage, run: own } = run.frame;
      const wide = coverage.map((one) => (one.transmitter === undefined ? one : { ...one, toMs: own.startedAt }));
      return { ...run, frame: { ...run.frame, coverage: wide } };
    },
  },
  a_row_of_facts_is_another: {
    seed: 10,
    make: () =>
      withTables((table) => {
        const rows = [...rowsOf(table.rows)];
        return { ...table, rows: packRows(rows.map(([key], at) => [key, rows[(at + 1) % rows.length]?.[1] ?? {}])) };
      }),
  },
  a_table_is_from_the_run_before: {
    seed: 10,
    make: () => (run, before) => ({ ...run, frame: { ...run.frame, given: (before ?? run).frame.given } }),
  },
  a_doubt_of_a_table_is_lost: {
    seed: 10,
    make: () => {
      const known = new Map<string, GivenTable['rows']>();
      return withTables((table) => {
        if (!table.doubt) known.set(table.source, table.rows);
        return { ...table, doubt: undefined, rows: known.get(table.source) ?? table.rows };
      });
    },
  },
  a_table_never_grows_stale: {
    seed: 13,
    make: () => withTables((table) => ({ ...table, freshUntilMs: ENDLESS_MS })),
  },
  an_event_is_told_late: {
    seed: 10,
    make: () => (run, before) => ({ ...run, events: before?.events ?? [] }),
  },
  an_event_is_counted_twice: {
    seed: 10,
    make: () => (run) => ({ ...run, events: [...run.events, ...run.events.map(again)] }),
  },
  an_effect_is_counted_twice: {
    seed: 42,
    make: () => (run) =>
      withOpenState(run, ({ attempts24h }) => ({
        attempts24h: new Map([...attempts24h].map(([action, count]) => [action, count + 1])),
      })),
  },
  attempts_are_counted_twice: {
    seed: 10,
    make: () => (run) =>
      withOpenState(run, ({ attempts24h }) => ({
        attempts24h: new Map([...attempts24h].map(([action, count]) => [action, 2 * count])),
      })),
  },
  an_untrusted_reading_is_taken_as_standing: {
    seed: 13,
    make: () => {
      const kept: FactChange[] = [];
      return (run) => {
        const changes = [...kept, ...run.changes];
        kept.push(...[...run.changes].filter(({ kind }) => !isUsable(run.frame.sources[SOURCE_OF[kind]])));
        return { ...run, changes };
      };
    },
  },
  a_join_is_from_the_run_before: {
    seed: 10,
    make: () => {
      let held: FactChange[] = [];
      return (run) => {
        const changes = [...held, ...[...run.changes].filter(({ kind }) => kind !== 'user')];
        held = [...run.changes].filter(({ kind }) => kind === 'user');
        return { ...run, changes };
      };
    },
  },
  a_rule_edit_is_one_run_late: {
    seed: 10,
    make: () => (run, before) => withRun(run, { ruleSetHash: (before ?? run).frame.run.ruleSetHash }),
  },
  a_settings_change_is_ignored: {
    seed: 10,
    make: () => {
      let first: RecordedRun['frame']['settings'] | undefined;
      return (run) => {
        first ??= run.frame.settings;
        return { ...run, frame: { ...run.frame, settings: first } };
      };
    },
  },
  an_exemption_never_ends: {
    seed: 10,
    make: () => {
      const all = new Map<string, NonNullable<RecordedRun['openState']['exemptions']>[number]>();
      return (run) => {
        for (const one of run.openState.exemptions ?? []) all.set(one.id, one);
        const endless = [...all.values()].map((one) => ({ ...one, expiresAt: ENDLESS_MS }));
        return withOpenState(run, () => ({ exemptions: endless }));
      };
    },
  },
  a_stop_is_not_told: {
    seed: 10,
    make: () => (run) => withOpenState(run, () => ({ stop: undefined })),
  },
  a_change_window_is_not_told: {
    seed: 42,
    make: () => (run) => ({ ...run, frame: { ...run.frame, freeze: undefined } }),
  },
} satisfies { [bug: string]: Planted };
export type PlantedRecordingBug = keyof typeof PLANTED;

/** The history with the bug in every run of it. */
export function sickened(reader: HistoryReader, bug: PlantedRecordingBug): HistoryReader {
  const items: HistoryReader['items'] = async function* (query) {
    const make: Planted['make'] = PLANTED[bug].make;
    const sick = make();
    let before: RecordedRun | undefined;
    for await (const item of reader.items(query)) {
      yield sickItem(item, sick, before);
      if (item.kind === 'run') before = item.run;
    }
  };
  return new Proxy(reader, {
    get(target, name) {
      const value: unknown = name === 'items' ? items : Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

function sickItem(item: HistoryItem, sick: Sick, before: RecordedRun | undefined): HistoryItem {
  return item.kind === 'run' ? { ...item, run: sick(item.run, before) } : item;
}

function changing(keep: (change: FactChange) => FactChange[]): Sick {
  return (run) => ({ ...run, changes: [...run.changes].flatMap(keep) });
}

function withRun(run: RecordedRun, own: Partial<RecordedRun['frame']['run']>): RecordedRun {
  return { ...run, frame: { ...run.frame, run: { ...run.frame.run, ...own } } };
}

function withTables(own: (table: GivenTable) => GivenTable): Sick {
  return (run) => {
    const given = new Map([...(run.frame.given ?? [])].map(([name, table]) => [name, own(table)]));
    return { ...run, frame: { ...run.frame, given } };
  };
}

function withOpenState(
  run: RecordedRun,
  own: (open: RecordedRun['openState']) => Partial<RecordedRun['openState']>,
): RecordedRun {
  return { ...run, openState: { ...run.openState, ...own(run.openState) } };
}

function again<T extends { id: string }>(one: T): T {
  return { ...one, id: `${one.id} again` };
}
