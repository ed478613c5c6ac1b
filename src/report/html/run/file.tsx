// report: the HTML writer: a run's report as one file. In: a report. Out: pieces of bounded work.
import type { Report } from '../../report.ts';
import { headline } from '../../words.ts';
import { filePieces } from '../file.tsx';
import type { Place } from './place.ts';
import { runReportPieces } from './report.tsx';

/** The whole report, with every decision. */
export function* reportHtmlPieces(report: Report): Generator<string> {
  const place: Place = { isPage: false, rowsMax: Number.MAX_SAFE_INTEGER, whole: (decision) => decision };
  yield* filePieces(headline(report), runReportPieces({ report, place, tools: TOOLS }), report.run.demo ? DEMO : '');
}

const DEMO = String(
  <header>
    <div class="demo-line">DEMO: a made-up organization, served by the embedded console</div>
  </header>,
);

const TOOLS = String(
  <div class="tools" hidden>
    <label>
      Rows with
      <input type="search" data-filter="decisions" aria-describedby="decisions-count" />
    </label>
    <span id="decisions-count" aria-live="polite"></span>
  </div>,
);
