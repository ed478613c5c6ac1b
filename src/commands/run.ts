// commands: `run`: one run, and its report. Through the daemon when one is active, otherwise by itself; over other
// rules than the active ones it is a what-if, beside any daemon.
import { composeEngine } from '../compose/compose.ts';
import { composeWhatIf } from '../compose/what-if.ts';
import type { Config } from '../config/config.ts';
import { runCycle } from '../cycle.ts';
import { AppError } from '../domain/errors.ts';
import type { EvidenceReader } from '../domain/evidence.ts';
import type { RecordReader, ReportReader } from '../domain/record-reader.ts';
import { REPORT_FORMATS } from '../domain/report-format.ts';
import { buildReport, type Report } from '../report/index.ts';
import { whatIf } from '../run/what-if.ts';
import { actorHere } from './actor.ts';
import { namingApi } from './api-fault.ts';
import { configOf, withSettings } from './config-of.ts';
import { type DaemonClient, findDaemon } from './daemon-client.ts';
import { evidenceOf } from './evidence-of.ts';
import { type CommonOptions, type Io, outputOf, widthOf, write } from './io.ts';
import { type ActiveFolder, otherThanActive } from './other-rules.ts';
import { progressOf } from './progress.ts';
import { renderReport } from './render.ts';

export interface RunOptions extends CommonOptions {
  rule?: string[];
}

export async function runCommand(io: Io, options: RunOptions): Promise<number> {
  const format = outputOf(options, REPORT_FORMATS, 'text');
  const config = await configOf(io, options);
  const daemon = await findDaemon(config);
  const active = await otherThanActive(io, config, options, daemon);
  const report = active
    ? await whatIfOver(io, config, options, active)
    : daemon
      ? await runThrough(io, daemon, config, options)
      : await runHere(io, config, options);
  write(io, options, await renderReport(report, format, widthOf(options)));
  return exitCodeOfReport(report);
}

/** Errors: AppError `usage` for a mode that sends something; as composeWhatIf and whatIf. */
async function whatIfOver(io: Io, config: Config, options: RunOptions, active: ActiveFolder): Promise<Report> {
  if (options.mode !== undefined && options.mode !== 'dry-run') {
    const text = `--rules names \`${options.rules}\` and ${active.origin} \`${active.dir}\`: a run over other rules is a what-if`;
    throw new AppError(
      'usage',
      `${text}, which sends nothing: leave out --mode ${options.mode}, or set TRUSTWARD_RULES`,
    );
  }
  const { engine, stopping, close } = await composeWhatIf(config, options.rule, progressOf(io, config));
  void io.untilStopped().then(() => stopping.abort());
  try {
    const { run, reader } = await namingApi(config, () => whatIf(engine, { rules: options.rule }));
    return await buildReport(reader, run, await evidenceOf(await withSettings(io, options), config.database));
  } finally {
    await close();
  }
}

/** 3: done in mode `approve` or `enforce`, but something waits for a person, a source was untrusted, or it was only a dry run. */
export function exitCodeOfReport(report: Report): number {
  if (report.run.status !== 'completed') return 1;
  if (report.operator.silentSince !== null) return 3;
  if (report.run.mode === 'dry-run') return 0;
  const { hold, failed, unknown, parked } = report.summary;
  return hold + failed + unknown + parked > 0 || !report.snapshot.trusted ? 3 : 0;
}

/**
 * Without a daemon, `--mode` sets how far this run goes and TRUSTWARD_MODE, when set, how far any may go. Errors: as
 * composeEngine and runCycle.
 */
async function runHere(io: Io, config: Config, options: RunOptions): Promise<Report> {
  const allowed = config.modeCap ?? (options.mode ? 'enforce' : config.mode);
  const composition = await composeEngine(config, allowed, options.rule, io.ending, progressOf(io, config));
  const { engine, ending, close } = composition;
  try {
    const request = {
      mode: config.mode,
      trigger: 'command',
      by: actorHere(),
      rules: options.rule,
      waitForDoubts: true,
    } as const;
    const run = await ending.until(
      'the run',
      namingApi(config, () => runCycle(engine, request)),
    );
    if (options.rule === undefined) composition.heartbeat?.beat();
    return await reportOf(engine.store, run.id, await evidenceOf(await withSettings(io, options), config.database));
  } finally {
    await close();
  }
}

async function reportOf(
  reader: ReportReader & Pick<RecordReader, 'run'>,
  runId: string,
  evidence: EvidenceReader | undefined,
): Promise<Report> {
  const run = await reader.run(runId);
  return buildReport(reader, run as NonNullable<typeof run>, evidence);
}

async function runThrough(io: Io, daemon: DaemonClient, config: Config, options: RunOptions): Promise<Report> {
  progressOf(io, config)?.({ phase: 'waiting', what: 'for the run of the daemon' });
  const body = { mode: config.mode, rules: options.rule, wait: true };
  const { id } = JSON.parse(await daemon.call('POST', '/api/runs', body)) as { id: string };
  const report = JSON.parse(await daemon.call('GET', `/api/runs/${id}/report?format=json`)) as Report;
  if (report.run.status === 'completed') return report;
  // As without a daemon: an aborted run is one line, and `report` shows how far it came.
  throw new AppError('api_answer', `run ${report.run.seq} was aborted: ${report.run.error ?? 'see the daemon’s log'}`);
}
