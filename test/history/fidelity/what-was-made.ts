// fidelity: what a month's runs really decided, as they committed it: the harness knows it beside any recording. In: the commits of the store. Out:
// each run's new and ended decisions, as comparable text; where what was recorded, or replayed, differs from it.
import { canonicalJson } from '../../../src/base/json.ts';
import type { Decision } from '../../../src/domain/decision.ts';
import type { RecordedRun } from '../../../src/domain/recorded-history.ts';
import type { RunCommit } from '../../../src/domain/store.ts';
import type { Listed } from './recorded-facts.ts';

/** What a run committed, and what the platform had listed then. */
export interface MadeRun {
  commit: RunCommit;
  seq: number;
  listed: Listed;
  /** Whether the platform had shown a device with a secret until then. */
  hasShownSecret: boolean;
}
/** By the id of the run. */
export type Made = Map<string, MadeRun>;

/** What the record has otherwise than the run committed it. */
export function recordedOtherwise(made: Made, { frame, written, ended }: RecordedRun): string[] {
  const commit = made.get(frame.run.id)?.commit;
  if (!commit) return [`run ${frame.run.seq} is recorded, and never committed`];
  const where = `run ${frame.run.seq}`;
  return [
    ...otherwise(`${where} wrote`, commit.decisions.map(exactText), written.map(exactText)),
    ...otherwise(`${where} ended`, commit.endedDecisions, ended),
  ];
}

function exactText({ flip: _, ...decision }: Decision): string {
  return canonicalJson(decision);
}

/** Both ways: what one has and the other has not. */
export function otherwise(where: string, was: readonly string[], is: readonly string[]): string[] {
  const [before, now] = [counted(was), counted(is)];
  const lost = [...before].filter(([text, times]) => times > (now.get(text) ?? 0));
  const more = [...now].filter(([text, times]) => times > (before.get(text) ?? 0));
  return [
    ...lost.map(([text]) => `${where}, and it is missing: ${text}`),
    ...more.map(([text]) => `${where} not: ${text}`),
  ];
}

function counted(texts: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const text of texts) counts.set(text, (counts.get(text) ?? 0) + 1);
  return counts;
}
