// pull: the gate that decides whether a source's reading can be trusted. Nothing is done on untrusted data. Every cause
// is configurable and shown in the report.

import { type Facts, isFacts, own } from '../../domain/facts.ts';
import { type Acceptance, isAcceptable, type UsedAcceptance } from '../../domain/operator.ts';
import { JSON_FIELDS, withoutSecrets } from '../../domain/secrets.ts';
import type { Baseline, KeptReading, SourceReading, TrustReason } from '../../domain/snapshot.ts';
import { type ComparedReading, readingsToCompare, type StandStillSettings } from './stand-still.ts';

export interface TrustSettings extends StandStillSettings {
  /** More than this share of records has no readable key, percent. */
  unreadablePercent: number;
  /** Shrunk by more than this since the last trusted reading, percent, and by more than `shrunkRecords`. */
  shrunkPercent: number;
  shrunkRecords: number;
  /** More than this many times the records of the last trusted reading, and more than `grownRecords`. */
  grownTimes: number;
  grownRecords: number;
  /** No list is read beyond this many records. */
  recordsMax: number;
  /** One value's share of a fact that a rule reads moved by more than these points, and by more than `movedRecords`. */
  movedPoints: number;
  movedRecords: number;
  /** The same since about 24 hours and 7 days before the last trusted reading, points; the share of records that may be lost since then, percent. */
  driftDayPercent: number;
  driftWeekPercent: number;
  /** Clocks differ by more than this from the server's `Date`. */
  skewMs: number;
}

export const TRUST_DEFAULT: TrustSettings = {
  unreadablePercent: 1,
  shrunkPercent: 20,
  shrunkRecords: 10,
  grownTimes: 3,
  grownRecords: 10_000,
  recordsMax: 5_000_000,
  movedPoints: 20,
  movedRecords: 10,
  driftDayPercent: 25,
  driftWeekPercent: 50,
  skewMs: 300_000,
  stillMs: 1_800_000,
};

export interface GateInput {
  reading: Pick<SourceReading, 'source' | 'count' | 'unreadable' | 'finishedAt'>;
  repeatedKeys: string[];
  /** Of the unreadable records, those with a name that is too long: a device that chooses one must not end the judging of all others. */
  overlong?: number;
  values: Baseline['values'];
  baseline: Baseline | undefined;
  skewMs: number | undefined;
  /** That it stands still, and since when. */
  still?: string | undefined;
  settings: TrustSettings;
}

/** Why a complete reading is not trusted; empty when it is. */
export function distrust(input: GateInput): TrustReason[] {
  const { source } = input.reading;
  const [empty, fewer, more, move] = [emptied(input), shrunk(input), grown(input), moved(input)];
  const earlier = readingsToCompare(input.baseline, input.reading.finishedAt, input.settings);
  // What differs from the last reading differs from those before it, too: it is said once.
  const countDrift = (empty ?? fewer ?? more) ? undefined : firstOf(earlier, (one) => countDrifted(input, one));
  const factDrift = move ? undefined : firstOf(earlier, (one) => factDrifted(input, one));
  const texts: [TrustReason['code'], string | undefined][] = [
    ['repeated_key', repeatedKey(input)],
    ['unreadable_records', unreadable(input)],
    ['empty', empty],
    ['shrunk', fewer],
    ['grown', more],
    ['count_drifted', countDrift],
    ['fact_moved', move],
    ['fact_drifted', factDrift],
    ['stands_still', input.still],
    ['clock_skew', skewed(input)],
  ];
  return texts.flatMap(([code, text]) => (text === undefined ? [] : [{ source, code, text: `${source}: ${text}` }]));
}

/** Where a reading ends. `isGrowthAccepted`: a person accepts that the list has grown. */
export function recordsReadMax(
  baseline: Baseline | undefined,
  isGrowthAccepted: boolean,
  settings: TrustSettings,
): number {
  return isGrowthAccepted ? settings.recordsMax : Math.min(expectedMax(baseline, settings), settings.recordsMax);
}

/** Why a reading that ended there is not trusted. */
export function tooMany(
  source: SourceReading['source'],
  readMax: number,
  baseline: Baseline | undefined,
  settings: TrustSettings,
): TrustReason {
  const text = `${source}: more than ${readMax} records`;
  const rest = 'the rest was not read';
  if (baseline && readMax < settings.recordsMax)
    return { source, code: 'grown', text: `${text}, and the last trusted reading had ${baseline.count}; ${rest}` };
  const way = 'set TRUSTWARD_RECORDS_MAX higher if the list is real';
  return { source, code: 'too_many', text: `${text}; ${rest}; ${way}` };
}

function expectedMax(baseline: Baseline | undefined, { grownTimes, grownRecords }: TrustSettings): number {
  return baseline ? Math.max(grownRecords, grownTimes * baseline.count) : Number.POSITIVE_INFINITY;
}

function repeatedKey({ repeatedKeys }: GateInput): string | undefined {
  if (repeatedKeys.length === 0) return undefined;
  return `${repeatedKeys.length} keys occur more than once, such as \`${repeatedKeys[0]}\``;
}

function unreadable({ reading, overlong = 0, settings }: GateInput): string | undefined {
  const { count, examples } = reading.unreadable;
  const bad = count - overlong;
  const all = reading.count + bad;
  if (bad === 0 || (bad / all) * 100 <= settings.unreadablePercent) return undefined;
  return `${bad} of ${all} records have no readable key (more than ${settings.unreadablePercent} %), such as: ${examples[0]}`;
}

function emptied({ reading, baseline }: GateInput): string | undefined {
  if (reading.count > 0 || !baseline || baseline.count === 0) return undefined;
  return `the list is empty; the last trusted one had ${baseline.count} records`;
}

function shrunk({ reading, baseline, settings }: GateInput): string | undefined {
  if (!baseline || reading.count === 0) return undefined;
  const lost = baseline.count - reading.count;
  if (lost <= settings.shrunkRecords || (lost / baseline.count) * 100 <= settings.shrunkPercent) return undefined;
  return `${reading.count} records, ${lost} fewer than in the last trusted reading (more than ${settings.shrunkPercent} %)`;
}

/** Of a whole list, which is read so far only if a person accepted that it has grown. */
function grown({ reading, baseline, settings }: GateInput): string | undefined {
  if (!baseline || reading.count <= expectedMax(baseline, settings)) return undefined;
  return `${reading.count} records, and the last trusted reading had ${baseline.count} (more than ${settings.grownTimes} times as many)`;
}

function moved({ reading, values, baseline, settings }: GateInput): string | undefined {
  const found = baseline && movedSince(reading.count, values, baseline, settings, settings.movedPoints);
  return found && `${found} at the last trusted reading`;
}

/** The first value whose share differs by too much. */
function movedSince(
  count: number,
  values: Baseline['values'],
  since: Pick<KeptReading, 'count' | 'values'>,
  { movedRecords }: TrustSettings,
  pointsMax: number,
): string | undefined {
  if (since.count === 0 || count === 0) return undefined;
  for (const [path, now] of Object.entries(values)) {
    const before = Object.hasOwn(since.values, path) ? since.values[path] : undefined;
    if (before === undefined) continue;
    for (const value of new Set([...Object.keys(now), ...Object.keys(before)])) {
      const shareNow = timesOf(now, value) / count;
      const shareBefore = timesOf(before, value) / since.count;
      // Of whole numbers: a difference of two shares that is the bound is not beyond it.
      const differs = Math.abs(timesOf(now, value) * since.count - timesOf(before, value) * count);
      const points = (differs / (count * since.count)) * 100;
      if (points <= pointsMax || (points / 100) * count <= movedRecords) continue;
      return `${path} is \`${value}\` in ${percent(shareNow)} of records, and was in ${percent(shareBefore)}`;
    }
  }
  return undefined;
}

function factDrifted({ reading, values, settings }: GateInput, since: ComparedReading): string | undefined {
  const found = movedSince(reading.count, values, since.reading, settings, since.percentMax);
  return found && `${found} ${since.ago}`;
}

function countDrifted({ reading: { count }, settings }: GateInput, since: ComparedReading): string | undefined {
  const before = since.reading.count;
  if (before === 0 || count === 0) return undefined;
  const lost = before - count;
  if (lost > settings.shrunkRecords && (lost / before) * 100 > since.percentMax)
    return `${count} records, ${lost} fewer than ${since.ago} (more than ${since.percentMax} %)`;
  if (count > Math.max(settings.grownRecords, settings.grownTimes * before))
    return `${count} records, and there were ${before} ${since.ago} (more than ${settings.grownTimes} times as many)`;
  return undefined;
}

function firstOf<T>(all: readonly T[], textOf: (one: T) => string | undefined): string | undefined {
  for (const one of all) {
    const text = textOf(one);
    if (text !== undefined) return text;
  }
  return undefined;
}

/** Values come from devices and are hostile: `constructor` is a value like any other. */
function timesOf(counts: Record<string, number>, value: string): number {
  return Object.hasOwn(counts, value) ? (counts[value] ?? 0) : 0;
}

function skewed({ skewMs, settings }: GateInput): string | undefined {
  if (skewMs === undefined || Math.abs(skewMs) <= settings.skewMs) return undefined;
  return `the server's clock is ${Math.round(Math.abs(skewMs) / 1_000)} s ${skewMs > 0 ? 'ahead of' : 'behind'} ours`;
}

function percent(share: number): string {
  return `${(share * 100).toFixed(1)} %`;
}

/** The record without secrets; `dropped` receives their names, such as `OIDCClientSpec.client_secret`. */
export function dropSecrets(record: Facts, dropped: Set<string>): Facts {
  const id = own(record, 'ServiceID');
  // The pull keeps no devices and users, and leaves them unchanged: reading one again must give the same facts.
  if (id === undefined && (Object.hasOwn(record, 'DeviceID') || Object.hasOwn(record, 'Email'))) return record;
  const kept = withoutSecrets(record, { jsonFields: JSON_FIELDS });
  if (kept.dropped.length === 0 || !isFacts(kept.value)) return record;
  for (const name of kept.dropped) dropped.add(name);
  // A service's name is not a secret, and must stay exact.
  return id === undefined ? kept.value : { ...kept.value, ServiceID: id };
}

// Applies an operator's acceptance to the next reading of that source. The reading uses it up either way. INVARIANT: it
// overrules only what the operator saw: the same causes, on a list that has not lost more since. It never accepts the
// beginning of a list: a reading that ended early is `too_many`, or `grown` without an acceptance of that.

/** Makes the reading trusted when the acceptance covers it. Returns the result of the acceptance. */
export function acceptReading(
  reading: SourceReading,
  acceptance: Acceptance,
  trust: Pick<TrustSettings, 'shrunkPercent' | 'shrunkRecords'>,
): { reading: SourceReading; used: UsedAcceptance } {
  if (reading.trusted)
    return { reading, used: { ...acceptance, overrode: [], refused: 'the reading was trusted anyway' } };
  const refused = whyNot(reading, acceptance, trust);
  if (refused !== undefined) return { reading, used: { ...acceptance, overrode: [], refused } };
  const { by, reason } = acceptance;
  const overrode = reading.reasons;
  return {
    reading: { ...reading, trusted: true, reasons: [], accepted: { by, reason, overrode } },
    used: { ...acceptance, overrode, refused: undefined },
  };
}

function whyNot(
  { source, state, reasons, count }: SourceReading,
  acceptance: Acceptance,
  trust: Pick<TrustSettings, 'shrunkPercent' | 'shrunkRecords'>,
): string | undefined {
  if (state !== 'read') return 'the source could not be read';
  const hard = reasons.find(({ code }) => !isAcceptable(code));
  if (hard) return `nobody can accept this: ${hard.text}`;
  const fresh = reasons.find(({ code }) => !acceptance.causes.includes(code));
  if (fresh) return `this was not so when it was accepted: ${fresh.text}`;
  // Of the log, each run reads another part.
  const lost = source === 'events' ? 0 : acceptance.count - count;
  if (lost > trust.shrunkRecords && (lost / acceptance.count) * 100 > trust.shrunkPercent)
    return `it had ${acceptance.count} records when it was accepted, and has ${count}`;
  return undefined;
}
