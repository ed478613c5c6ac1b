// report: a run's report as HTML, in its binding order, for the page and for the file. In: a report, and where it is shown. Out: pieces of
// bounded work; every name in them is escaped.
import type { Report } from '../../report.ts';
import { type RowGroup, rowGroups } from '../../row-groups.ts';
import { Bounds, HowItWent, Rules, Sources, Trend, Unknown } from './context.tsx';
import { groupSections } from './groups.tsx';
import { Changes, Effects, Headline, InterruptedPlan } from './head.tsx';
import type { Place } from './place.ts';

export interface ShownReport {
  report: Report;
  place: Place;
  /** What stands between the figures and the groups of decisions, as HTML: a way to narrow them. */
  tools?: string;
  /** The groups that are shown; by default all. */
  groups?: readonly RowGroup[];
}

export function* runReportPieces({
  report,
  place,
  tools = '',
  groups = rowGroups(report),
}: ShownReport): Generator<string> {
  yield String(<Headline report={report} place={place} />);
  yield String(<Changes report={report} />);
  yield String(<Effects report={report} groups={groups} place={place} />);
  if (groups.length > 0 || place.text !== undefined) yield tools;
  yield '<div id="decisions">';
  yield* groupSections(report, groups, place);
  yield '</div>';
  yield String(<InterruptedPlan report={report} place={place} />);
  yield String(<Unknown report={report} place={place} />);
  yield String(<Bounds report={report} />);
  yield String(<Trend report={report} place={place} />);
  yield String(<Sources snapshot={report.snapshot} />);
  yield String(<Rules report={report} place={place} />);
  yield String(<HowItWent report={report} place={place} />);
}
