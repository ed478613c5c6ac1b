// metrics: what a metric is, before there is one: its name, its meaning, its labels. In: nothing. Out: the shape of the lists beside it,
// from which the registry and docs/metrics.md are made. Names are in base units, and a counter ends in `_total`.

export interface Definition {
  name: string;
  kind: 'counter' | 'gauge' | 'histogram';
  /** One sentence without a full stop. */
  help: string;
  /** INVARIANT: bounded: of the loaded rules, the actions, or a list in the source. Never a target, a person, an address or a text. */
  labels?: readonly string[];
  /** Of a histogram, in seconds. */
  buckets?: readonly number[];
}

/** From a millisecond to a minute. */
export const CALL_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
/** From some milliseconds to an hour. */
export const WORK_BUCKETS = [0.01, 0.05, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1_800, 3_600];

/** Undefined where the metric has none. */
export type LabelsOf<D extends Definition> = D extends { labels: readonly (infer L extends string)[] }
  ? Readonly<Record<L, string>>
  : Readonly<Record<never, string>>;
