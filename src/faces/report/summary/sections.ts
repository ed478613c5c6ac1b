// report: a summary as a document for every writer. In: a summary. Out: plain text that may hold hostile names.

import { formatDuration, HOUR_MS, MINUTE_MS } from '../../../base/time.ts';
import type { Summary, SummaryCalls, SummaryRuns } from '../../../contract/answers.ts';
import type { ReasonCode } from '../../../domain/decision.ts';
import type { AuditReader, PageReader, RecordReader } from '../../../domain/store-ports.ts';
import type { NamesReader } from '../audit-words.ts';
import { timeWords } from '../decision-words.ts';
import type { Document } from '../document.ts';
import { andMore, countText, listed, plural } from '../fact-text.ts';
import { reasonWords } from '../words.ts';

export type SummaryReader = NamesReader &
  Pick<RecordReader, 'runLines'> &
  Pick<AuditReader, 'audit'> &
  Pick<PageReader, 'heldSince' | 'heldInForce'>;

/** All of them are counted; some of them are named. */
export interface Counted<T> {
  count: number;
  some: T[];
}

/** Sections without lines are left out. `state`: whether all is well at its end. */
export function readableSummary(summary: Summary, state?: string): Document {
  const { runs, held, expired, people, untrusted } = summary;
  const callsOf = (outcome: SummaryCalls['outcome']) =>
    summary.calls.filter((group) => group.outcome === outcome).map(callsLine);
  const sections = [
    { title: 'Runs', items: runLines(runs) },
    { title: 'Change window', items: summary.changeWindow === null ? [] : [summary.changeWindow] },
    { title: 'Done', items: callsOf('done') },
    { title: 'Failed', items: callsOf('failed') },
    { title: 'In doubt', items: callsOf('in_doubt') },
    { title: 'Waits', items: held.filter(({ inForce }) => inForce > 0).map(heldLine) },
    { title: 'Waited, and does no more', items: held.filter(({ inForce }) => inForce === 0).map(heldLine) },
    { title: 'Mended before the deadline', items: mendedLines(summary.mended) },
    { title: 'Expired', items: expiredLines(expired) },
    { title: 'What people did', items: peopleLines(people) },
    { title: 'Not trusted', items: untrusted.map(untrustedLine) },
  ].filter(({ items }) => items.length > 0);
  const told = sections.filter(({ title }) => title !== 'Change window').length;
  const isQuiet = told === 1 && runs.aborts.count + runs.outages.count === 0;
  if (isQuiet)
    sections.push({ title: 'Nothing else', items: ['Nothing was done, nothing waits, and nothing expired.'] });
  return {
    title: `Trustward: summary, ${timeWords(summary.since)} to ${timeWords(summary.until)}`,
    ...(state !== undefined && { note: state }),
    sections: sections.map(({ title, items }) => ({ title, blocks: [{ is: 'list', items }] })),
  };
}

function runLines({
  completed,
  aborted,
  running,
  afterEvents,
  first,
  last,
  usualMs,
  aborts,
  outages,
  isCut,
}: SummaryRuns): string[] {
  const all = completed + aborted + running;
  const usual = usualMs === null ? '' : `; a scheduled run usually begins every ${tookWords(usualMs)}`;
  const events = afterEvents === 0 ? '' : `, ${countText(afterEvents)} of them after new events only`;
  const under = running === 0 ? '' : `, ${running} not over`;
  const which = first === last ? `run ${first}` : `run ${first} to run ${last}`;
  return [
    all === 0
      ? `no run${usual}`
      : `${plural(all, 'run')} (${which}): ${countText(completed)} completed, ${countText(aborted)} aborted${under}${events}${usual}`,
    ...(isCut ? ['there are older runs in this time: they are not counted'] : []),
    ...outages.some.map(outageLine),
    ...moreOf(outages, 'outage'),
    ...aborts.some.map(({ run, at, error }) => `run ${run} at ${timeWords(at)} was aborted: ${error}`),
    ...moreOf(aborts, 'aborted run'),
  ];
}

function outageLine({ from, to, after }: SummaryRuns['outages']['some'][number]): string {
  if (to === null) return `NO RUN since ${timeWords(from)}, after run ${after}`;
  return `no run from ${timeWords(from)} to ${timeWords(to)} (${tookWords(Date.parse(to) - Date.parse(from))}), after run ${after}`;
}

/** In whole seconds, from an hour on in whole minutes, and from six on in whole hours. */
function tookWords(ms: number): string {
  const unit = ms < HOUR_MS ? 1_000 : ms < 6 * HOUR_MS ? MINUTE_MS : HOUR_MS;
  return formatDuration(Math.max(Math.round(ms / unit), 1) * unit);
}

function callsLine({ action, count, some }: SummaryCalls): string {
  const named = some.map(({ target, run, intent, note }) => {
    const where = run === null ? `action ${intent}` : `run ${run}`;
    return `${target} (${where}${note === '' || note === 'Success' ? '' : `: ${note}`})`;
  });
  return `${action}: ${countText(count)}: ${named.join(', ')}${andMore(count - some.length)}`;
}

function heldLine({ rules, reason, count, inForce, some }: Summary['held'][number]): string {
  const named = some.map(({ target, run }) => `${target} (run ${run})`);
  return `${listed(rules)}, ${reasonWords(reason as ReasonCode)}: ${countText(count)}${inForce === 0 ? '' : `, ${countText(inForce)} still`}: ${named.join(', ')}${andMore(count - some.length)}`;
}

function mendedLines(mended: Summary['mended']): string[] {
  const named = mended.some.map(({ target, rule, at }) => `${target} (rule ${rule}) at ${timeWords(at)}`);
  return [...named, ...moreOf(mended, 'target')];
}

function expiredLines({ plans, exemptions }: Summary['expired']): string[] {
  return [
    ...plans.some.map(({ id, at }) => `plan ${id}, recorded at ${timeWords(at)}`),
    ...moreOf(plans, 'plan'),
    ...exemptions.some.map(({ id, about, at }) => `exemption ${id} of ${about} at ${timeWords(at)}`),
    ...moreOf(exemptions, 'exemption'),
  ];
}

function peopleLines(people: Summary['people']): string[] {
  const lines = people.some.map(({ at, by, text, reason, entry }) => {
    const where = entry === null ? '' : ` [entry ${entry}]`;
    return `${timeWords(at)}: ${by ?? 'somebody'} ${text}${reason === null ? '' : `: ${reason}`}${where}`;
  });
  return [...lines, ...moreOf(people, 'entry', 'entries')];
}

function untrustedLine({ source, readings, firstRun, lastRun, text }: Summary['untrusted'][number]): string {
  const which = firstRun === lastRun ? `run ${lastRun}` : `run ${firstRun} to run ${lastRun}`;
  return `${source}, ${plural(readings, 'reading')} (${lastRun === null ? 'of removed runs' : which}): ${text}`;
}

function moreOf({ count, some }: Counted<unknown>, one: string, many = `${one}s`): string[] {
  return count === some.length ? [] : [`and ${plural(count - some.length, one, many)} more`];
}
