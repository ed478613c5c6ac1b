// report: what one rule did over the replayed time, as a picture: matches as a line, actions as bars up, undos as bars down, gaps hatched,
// its limit dashed. In: a replay as a document. Out: an SVG without any style of its own, with a text alternative, and its numbers as a table.

import { spanText } from '../../../base/time.ts';
import type { ReplayBucketView, ReplayDocument, ReplayRuleView } from '../../../contract/replay.ts';
import type { Report } from '../../../contract/report.ts';
import { DEMO_WORDS } from '../../../domain/run.ts';
import { timeWords } from '../decision-words.ts';
import { countText, plural } from '../fact-text.ts';
import { allowedInRun, mergedBuckets, replayHead, replayHeadline, replayTables, wayWords } from '../replay/sections.ts';
import { headline } from '../words.ts';
import { ShownSection } from './document.tsx';
import { filePieces } from './file.tsx';
import { type Place, runReportPieces } from './report.tsx';
import { Code, Table, When, Words } from './text.tsx';

const COLUMNS_MAX = 120;
const ROWS_MAX = 31;
const WIDTH = 960;
const HEIGHT = 190;

interface Drawn {
  buckets: readonly ReplayBucketView[];
  rule: string;
  x(iso: string): number;
  /** Of actions and matches above the line of nothing, and of undos below it: one scale. */
  y(count: number): number;
  ground: number;
}

function Picture({ replay, rule, at }: { replay: ReplayDocument; rule: ReplayRuleView; at: number }) {
  const buckets = mergedBuckets(replay.buckets, COLUMNS_MAX);
  if (buckets.length === 0) return null;
  const counts = buckets.map((bucket) => bucket.rules[rule.id] ?? NONE);
  const limit = allowedInRun(rule);
  const seen = Math.max(1, ...counts.flatMap(({ matches, acts }) => [matches, acts]));
  // A limit far above everything would press the rest to the ground: it is in the words alone.
  const most = limit !== undefined && limit <= 3 * seen ? Math.max(seen, limit) : seen;
  const undos = Math.max(0, ...counts.map((one) => one.undos));
  const unit = (HEIGHT - 8) / (most + undos);
  const ground = round(4 + most * unit);
  const [first, last] = [buckets[0], buckets.at(-1)] as [ReplayBucketView, ReplayBucketView];
  const [begin, end] = [Date.parse(first.from), Date.parse(last.to)];
  const drawn: Drawn = {
    buckets,
    rule: rule.id,
    x: (iso) => round((WIDTH * (Date.parse(iso) - begin)) / Math.max(1, end - begin)),
    y: (count) => round(ground - count * unit),
    ground,
  };
  const pattern = `gap-${at}`;
  return (
    <figure class="picture">
      <figcaption>
        <b>
          <Code>{rule.id}</Code>
        </b>
        <Legend
          limit={limit}
          isDrawn={limit !== undefined && limit <= most}
          hasGaps={replay.gaps.length > 0}
          length={spanText(Date.parse(first.to) - begin)}
        />
      </figcaption>
      <div class="picture-top quiet">{countText(most)}</div>
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={label(replay, rule)}>
        <defs>
          <pattern id={pattern} width="8" height="8" patternUnits="userSpaceOnUse">
            <path class="hatch" d="M-2 2 L2 -2 M0 8 L8 0 M6 10 L10 6" />
          </pattern>
        </defs>
        <Gaps replay={replay} drawn={drawn} pattern={pattern} />
        <Bars drawn={drawn} />
        <path class="ground" d={`M0 ${ground} H${WIDTH}`} />
        {limit !== undefined && limit <= most ? <path class="limit" d={`M0 ${drawn.y(limit)} H${WIDTH}`} /> : null}
        <path class="matches" d={matchesPath(drawn)} />
      </svg>
      <div class="picture-ends quiet">
        <When at={first.from} />
        <When at={last.to} />
      </div>
      <Numbers replay={replay} rule={rule} />
    </figure>
  );
}

const NONE = { matches: 0, acts: 0, undos: 0, unknown: 0 };

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

/** What the picture shows, for who cannot see it. */
function label({ from, to, gaps, buckets }: ReplayDocument, rule: ReplayRuleView): string {
  const matches = buckets.filter(({ runs }) => runs > 0).map(({ rules }) => rules[rule.id]?.matches ?? 0);
  const [least, most] = [Math.min(...matches, Number.MAX_SAFE_INTEGER), Math.max(...matches, 0)];
  const range = matches.length === 0 ? 'no run' : `${countText(least)} to ${plural(most, 'match', 'matches')}`;
  const allowed = allowedInRun(rule);
  const limit = allowed === undefined ? '' : `; ${countText(allowed)} are allowed in a run`;
  const gap = gaps.length === 0 ? '' : `; ${plural(gaps.length, 'gap')}`;
  const did = `${plural(rule.acts, 'action')}, ${plural(rule.undos, 'undo', 'undos')}`;
  return `Rule ${rule.id} from ${timeWords(from)} to ${timeWords(to)}: ${range}; ${did}${limit}${gap}. The numbers are below.`;
}

/** Steps; broken where no run is recorded. */
function matchesPath({ buckets, rule, x, y }: Drawn): string {
  let isOpen = false;
  const steps = buckets.map(({ from, to, runs, rules }) => {
    if (runs === 0) {
      isOpen = false;
      return '';
    }
    const height = y(rules[rule]?.matches ?? 0);
    const step = `${isOpen ? `V${height}` : `M${x(from)} ${height}`} H${x(to)}`;
    isOpen = true;
    return step;
  });
  return steps.filter((step) => step !== '').join(' ');
}

function Bars({ drawn: { buckets, rule, x, y, ground } }: { drawn: Drawn }) {
  return (
    <>
      {buckets.map(({ from, to, rules }) => {
        const { acts, undos } = rules[rule] ?? NONE;
        const [left, width] = [x(from), Math.max(2, round((x(to) - x(from)) * 0.8))];
        const top = Math.min(y(acts), ground - 3);
        return (
          <>
            {acts === 0 ? null : (
              <rect class="acts" x={`${left}`} y={`${top}`} width={`${width}`} height={`${round(ground - top)}`} />
            )}
            {undos === 0 ? null : (
              <rect
                class="undos"
                x={`${left}`}
                y={`${ground}`}
                width={`${width}`}
                height={`${Math.max(3, round(y(-undos) - ground))}`}
              />
            )}
          </>
        );
      })}
    </>
  );
}

function Gaps({ replay, drawn: { x }, pattern }: { replay: ReplayDocument; drawn: Drawn; pattern: string }) {
  return (
    <>
      {replay.gaps.map(({ from, to }) => {
        const [left, right] = [Math.max(0, x(from)), Math.min(WIDTH, x(to))];
        if (right < 0 || left > WIDTH) return null;
        return (
          <rect
            class="gap"
            x={`${left}`}
            y="0"
            width={`${Math.max(2, round(right - left))}`}
            height={`${HEIGHT}`}
            fill={`url(#${pattern})`}
          />
        );
      })}
    </>
  );
}

interface Shown {
  limit: number | undefined;
  isDrawn: boolean;
  hasGaps: boolean;
  /** Of one bar: `6 h`. */
  length: string;
}

function Legend({ limit, isDrawn, hasGaps, length }: Shown) {
  return (
    <span class="legend quiet">
      <Swatch kind="matches" text="matches, the most in one run" /> <Swatch kind="acts" text={`actions in ${length}`} />{' '}
      <Swatch kind="undos" text="undos, below the line" />{' '}
      {limit === undefined ? null : isDrawn ? (
        <Swatch kind="limit" text={`allowed in one run, ${countText(limit)}`} />
      ) : (
        <span>allowed in one run: {countText(limit)}</span>
      )}{' '}
      {hasGaps ? <Swatch kind="gap" text="not recorded" /> : null}
    </span>
  );
}

function Swatch({ kind, text }: { kind: string; text: string }) {
  return (
    <span>
      <svg class={`swatch ${kind}`} viewBox="0 0 16 10" aria-hidden="true">
        {kind === 'matches' || kind === 'limit' ? <path class={kind} d="M0 5 H16" /> : null}
        {kind === 'acts' || kind === 'undos' ? <rect class={kind} width="16" height="10" /> : null}
        {kind === 'gap' ? <path class="hatch" d="M0 10 L10 0 M6 10 L16 0 M-6 10 L4 0" /> : null}
      </svg>{' '}
      {text}
    </span>
  );
}

/** The same in fewer stretches. */
function Numbers({ replay, rule }: { replay: ReplayDocument; rule: ReplayRuleView }) {
  const rows = mergedBuckets(replay.buckets, ROWS_MAX);
  const number = (head: string) => ({ head, kind: 'number' as const });
  return (
    <details>
      <summary>The numbers</summary>
      <Table
        caption={`Matches, actions and undos of rule ${rule.id} over time`}
        columns={[
          'From',
          number('Runs'),
          number('Most matches'),
          number('Actions'),
          number('Undos'),
          number('Unknown'),
        ]}
        rows={rows.map(({ from, runs, rules }) => {
          const { matches, acts, undos, unknown } = rules[rule.id] ?? NONE;
          const shown = runs === 0 ? [<Words>not recorded</Words>] : [countText(matches)];
          return {
            cells: [
              <When at={from} />,
              countText(runs),
              ...shown,
              countText(acts),
              countText(undos),
              countText(unknown),
            ],
          };
        })}
      />
    </details>
  );
}

// A replay in HTML, for a file and for the page: its sentence, its pictures, its tables.

/** Rules with a picture: those that matched most. */
const PICTURES_MAX = 6;

interface ReplayPartsProps {
  replay: ReplayDocument;
  /** Rows of each table. */
  rowsMax: number;
  isPage: boolean;
}

export function ReplayParts({ replay, rowsMax, isPage }: ReplayPartsProps) {
  const drawn = [...replay.rules]
    .filter(({ matches, acts }) => matches + acts > 0)
    .sort((one, other) => other.acts - one.acts || other.matches - one.matches)
    .slice(0, PICTURES_MAX);
  return (
    <>
      <p>
        <Words>{wayWords(replay)}</Words>
      </p>
      <ShownSection section={{ title: '', blocks: replayHead(replay) }} isPage={isPage} />
      {drawn.length === 0 ? null : (
        <section class="card">
          <h2>Over time</h2>
          {drawn.map((rule, at) => (
            <Picture replay={replay} rule={rule} at={at} />
          ))}
        </section>
      )}
      {replayTables(replay, rowsMax).map((section) => (
        <ShownSection section={section} isPage={isPage} />
      ))}
    </>
  );
}

/** A browser is slow with more. */
const REPLAY_ROWS_MAX = 5_000;

export function* replayHtmlPieces(replay: ReplayDocument): Generator<string> {
  const title = replayHeadline(replay);
  const main = (
    <>
      <h1>
        <Words>{title}</Words>
      </h1>
      <ReplayParts replay={replay} rowsMax={REPLAY_ROWS_MAX} isPage={false} />
    </>
  );
  yield* filePieces(title, [String(main)]);
}

/** The whole report, with every decision. */
export function* reportHtmlPieces(report: Report): Generator<string> {
  const place: Place = { isPage: false, rowsMax: Number.MAX_SAFE_INTEGER, whole: (decision) => decision };
  yield* filePieces(headline(report), runReportPieces({ report, place, tools: TOOLS }), report.run.demo ? DEMO : '');
}

const DEMO = String(
  <header>
    <div class="demo-line">{DEMO_WORDS}</div>
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
