// report: a stored run → its part of a report: the run, its snapshot and its rules.

import { howToGet } from '../domain/how-to-get.ts';
import { isOfLook, type Run } from '../domain/run.ts';
import type { SourceReading } from '../domain/snapshot.ts';
import type { RunRecord } from '../domain/store.ts';
import { SOURCES, type Source } from '../domain/subjects.ts';
import { isoTime } from '../domain/time-text.ts';
import type { RuleTally } from '../domain/verdict.ts';
import { isoOrNull } from './iso-or-null.ts';
import type { JudgedRule, ReportRun, ReportSnapshot, ReportSource } from './report.ts';

export function runView(run: Run): ReportRun {
  return {
    id: run.id,
    seq: run.seq,
    mode: run.mode,
    daemonMode: run.daemonMode,
    trigger: run.trigger,
    scoped: run.scoped ?? false,
    startedAt: isoTime(run.startedAt),
    finishedAt: isoOrNull(run.finishedAt),
    status: run.status,
    error: run.error ?? null,
    demo: run.demo,
    rules: run.rules,
    ruleSetHash: run.ruleSetHash,
    rulesDir: run.rulesDir ?? null,
    whatIf: run.whatIf ?? false,
  };
}

/** A run by itself: with its counts, and without its decisions. */
export function runSummaryView(run: RunRecord) {
  return { ...runView(run), snapshot: snapshotView(run), rulesJudged: ruleViews(run), planId: run.planId ?? null };
}

const NO_SNAPSHOT: ReportSnapshot = {
  id: null,
  at: null,
  devices: 0,
  users: 0,
  services: 0,
  events: 0,
  trusted: false,
  reasons: [],
  sources: {},
};

export function snapshotView(run: RunRecord): ReportSnapshot {
  const snapshot = run.findings?.snapshot;
  if (!snapshot) return NO_SNAPSHOT;
  const readings = SOURCES.map((source) => snapshot.sources[source]);
  // What a look did not read was named by no event: a rule may still need it.
  const isShown = ({ state }: SourceReading) => state !== 'skipped' || !isOfLook(run);
  const count = (source: Source) => snapshot.sources[source].count;
  return {
    id: snapshot.id,
    at: isoTime(snapshot.nowMs),
    devices: count('devices'),
    users: count('users'),
    services: count('services'),
    events: count('events'),
    trusted: readings.every(({ state, trusted }) => trusted || state === 'skipped' || state === 'unavailable'),
    reasons: readings.flatMap((reading) => reading.reasons),
    sources: Object.fromEntries(readings.filter(isShown).map((reading) => [reading.source, sourceView(reading)])),
  };
}

function sourceView(reading: SourceReading): ReportSource {
  const { state, form, lists, count, trusted, reasons, unreadable, dropped } = reading;
  return {
    state,
    form,
    ...(lists && { lists }),
    count,
    startedAt: isoTime(reading.startedAt),
    finishedAt: isoTime(reading.finishedAt),
    trusted,
    reasons,
    unreadable,
    dropped,
  };
}

export function ruleViews(run: RunRecord): JudgedRule[] {
  const readings = run.findings?.snapshot.sources;
  const unavailable = SOURCES.filter((source) => readings?.[source].state === 'unavailable');
  return (run.findings?.tallies ?? []).map((tally) => ({
    id: tally.rule,
    title: tally.title,
    mode: tally.mode,
    hash: tally.hash,
    judged: tally.judged,
    match: tally.match,
    no_match: tally.no_match,
    unknown: tally.unknown,
    error: tally.error,
    missing: tally.missing,
    howTo: howToOf(tally, unavailable),
    examples: tally.examples.map(({ subject, name, serial, owners, verdict, reason }) => ({
      subject,
      name: name ?? null,
      serial: serial ?? null,
      owners: owners ?? null,
      verdict,
      reason,
    })),
  }));
}

function howToOf({ missing, whys = {} }: RuleTally, unavailable: readonly Source[]): { [fact: string]: string } {
  const ways = Object.keys(missing).map((fact) => [fact, howToGet({ fact, whys: whys[fact] ?? [], unavailable })]);
  return Object.fromEntries(ways);
}
