// commands: `rules evidence [ID]`: what each rule's tests and recorded time show, and what is missing for the next mode. In: the rules folder, the
// history beside the database, if any. Out: text, Markdown or JSON; kept evidence beside the history. It asks no API, and needs no database.
import { existsSync } from 'node:fs';
import { ACTIONS } from '../act/actions.ts';
import { evidenceThresholdsOf } from '../config/evidence.ts';
import type { Database } from '../domain/database.ts';
import { AppError, lineOf } from '../domain/errors.ts';
import type { EvidenceThresholds, RuleEvidence } from '../domain/evidence.ts';
import { givenTime } from '../domain/given-time.ts';
import { lacksOf } from '../domain/lacks.ts';
import { didYouMean, type LoadedRule } from '../evaluate/index.ts';
import { contentOf } from '../history/evidence/content.ts';
import { dropOldEvidence, evidenceFolder, keepEvidence } from '../history/evidence/evidence-files.ts';
import { gatherEvidence, type ReplayedTime } from '../history/evidence/gather.ts';
import { replayTime } from '../history/evidence/replay-time.ts';
import { loadRuleFolder } from '../rule-set/rule-holder.ts';
import { systemClock } from '../system/clock.ts';
import { keepHeapLean } from '../system/lean-heap.ts';
import { statusLine } from '../system/status-line.ts';
import { withSettings } from './config-of.ts';
import { type EvidenceReport, evidenceMarkdown, evidenceReport, evidenceText } from './evidence-text.ts';
import { type CommonOptions, databaseOf, type Io, outputOf, widthOf, write } from './io.ts';

export interface EvidenceOptions extends CommonOptions {
  since?: string;
  require?: boolean;
}

const SINCE = '30d';

/** Exit code 1 with `--require`: a rule has a mode that it has not earned. */
export async function rulesEvidenceCommand(io: Io, id: string | undefined, options: EvidenceOptions): Promise<number> {
  const format = outputOf(options, ['text', 'json', 'md'] as const, 'text');
  const nowMs = systemClock.nowMs();
  const fromMs = givenTime(options.since ?? SINCE, '--since', nowMs, 'before');
  if (fromMs >= nowMs) throw new AppError('usage', `--since \`${options.since}\`: expected a time in the past`);
  const { env } = await withSettings(io, options);
  const thresholds = evidenceThresholdsOf(env);
  const { rules } = await loadRuleFolder(options.rules ?? (env.TRUSTWARD_RULES?.trim() || 'rules'), ACTIONS);
  const chosen = id === undefined ? rules : [oneOf(rules, id)];
  const database = databaseOf(io, options);
  const time = await recordedTime(io, database, rules, { fromMs, toMs: nowMs, only: id });
  const evidence = await gatherEvidence(chosen, time, nowMs);
  // Of a shorter stretch than usual, only this answer is made.
  if (time && options.since === undefined) keep(io, database, chosen, evidence, nowMs);
  const report = reportOf(chosen, evidence, thresholds, { time, fromMs });
  const texts = {
    text: () => evidenceText(report, widthOf(options)),
    md: () => evidenceMarkdown(report),
    json: () => JSON.stringify(report, null, 2),
  };
  write(io, options, texts[format]());
  return options.require && report.rules.some(({ unearned }) => unearned.length > 0) ? 1 : 0;
}

function oneOf(rules: readonly LoadedRule[], id: string): LoadedRule {
  const rule = rules.find((one) => one.id === id);
  if (rule) return rule;
  const hint = didYouMean(
    id,
    rules.map((one) => one.id),
  );
  throw new AppError('not_found', `there is no rule \`${id}\`${hint}`);
}

/** Undefined without a history, and for an empty one. */
async function recordedTime(
  io: Io,
  database: Database,
  rules: readonly LoadedRule[],
  { fromMs, toMs, only }: { fromMs: number; toMs: number; only: string | undefined },
): Promise<ReplayedTime | undefined> {
  if (!existsSync(`${database.beside}.history`)) return undefined;
  keepHeapLean();
  const { boundAddressOf, composeHistory } = await import('../compose/history.ts');
  const stopping = new AbortController();
  void io.untilStopped().then(() => stopping.abort());
  try {
    return await replayTime(composeHistory(database, await boundAddressOf(database)), rules, {
      fromMs,
      toMs,
      ...(only !== undefined && { only: [only] }),
      actions: ACTIONS,
      signal: stopping.signal,
      progress: statusLine.progress(io.env),
    });
  } finally {
    statusLine.clear();
  }
}

/** What cannot be kept is shown all the same. */
function keep(
  io: Io,
  database: Database,
  rules: readonly LoadedRule[],
  evidence: readonly RuleEvidence[],
  nowMs: number,
): void {
  const folder = evidenceFolder(database.beside);
  try {
    for (const [at, rule] of rules.entries())
      keepEvidence(folder, evidence[at] as RuleEvidence, contentOf(rule).ruleHashes);
    dropOldEvidence(folder, nowMs);
  } catch (error) {
    io.err(`the evidence could not be kept in \`${folder}\`: ${lineOf(error)}\n`);
  }
}

function reportOf(
  rules: readonly LoadedRule[],
  evidence: readonly RuleEvidence[],
  thresholds: EvidenceThresholds,
  { time, fromMs }: { time: ReplayedTime | undefined; fromMs: number },
): EvidenceReport {
  const judged = rules.map((rule, at) => {
    const own = evidence[at] as RuleEvidence;
    return { rule, evidence: own, lacks: lacksOf(own, thresholds) };
  });
  return evidenceReport(judged, { thresholds, replay: time?.replay, fromMs });
}
