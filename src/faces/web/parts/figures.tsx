// web: the parts of a page that are drawn: a tile with its number and its curve, a curve over time, bars by hour, the share of a whole, a time as how
// long ago it was. In: numbers of the store. Out: SVG without a script or a style of its own, each with a text alternative.
import { DAY_MS, HOUR_MS, isoTime, MINUTE_MS, spanText, timeText } from '../../../base/time.ts';
import { countText, plural } from '../../report/fact-text.ts';
import { Bar } from '../../report/html/document.tsx';
import { Link } from '../../report/html/link.tsx';

/** `4 min ago`, `in 3 h`. INVARIANT: filter.js writes the same while the page is open. */
export function agoText(atMs: number, nowMs: number): string {
  const span = Math.abs(nowMs - atMs);
  if (span < MINUTE_MS) return atMs > nowMs ? 'in a moment' : 'just now';
  const text =
    span < HOUR_MS
      ? `${Math.floor(span / MINUTE_MS)} min`
      : span < 2 * DAY_MS
        ? `${Math.floor(span / HOUR_MS)} h`
        : `${Math.floor(span / DAY_MS)} days`;
  return atMs > nowMs ? `in ${text}` : `${text} ago`;
}

/** The exact time is there when it is pointed at. */
export function Ago({ at, nowMs }: { at: number | string; nowMs: number }) {
  const ms = typeof at === 'number' ? at : Date.parse(at);
  return (
    <time datetime={isoTime(ms)} title={timeText(ms)} data-ago>
      {agoText(ms, nowMs)}
    </time>
  );
}

// A number over time, as steps: it was so from one reading until the next.

export interface Point {
  at: number;
  count: number;
}

/** How high what is drawn stands. `least`: the smallest number is near the ground, so that a small change of a large number is seen. */
type Ground = 'zero' | 'least';

interface CurveProps {
  /** The oldest first. */
  points: readonly Point[];
  fromMs: number;
  toMs: number;
  ground: Ground;
  tone: string;
  label: string;
}

const WIDTH = 240;
const HEIGHT = 48;

/** What stood at that time, and all after it. */
function pointsSince(points: readonly Point[], fromMs: number): readonly Point[] {
  const first = points.findLastIndex(({ at }) => at <= fromMs);
  return first === -1 ? points : points.slice(first);
}

export function Curve({ points, fromMs, toMs, ground, tone, label }: CurveProps) {
  const shown = pointsSince(points, fromMs).filter(({ at }) => at <= toMs);
  if (shown.length === 0) return null;
  const [low, high] = scaleOf(
    shown.map(({ count }) => count),
    ground,
  );
  const x = (at: number) => rounded((WIDTH * (Math.max(at, fromMs) - fromMs)) / Math.max(1, toMs - fromMs));
  const y = (count: number) => rounded(HEIGHT - 3 - ((HEIGHT - 6) * (count - low)) / (high - low));
  const [begin] = shown as [Point];
  const steps = shown.slice(1).map(({ at, count }) => `H${x(at)}V${y(count)}`);
  const line = `M${x(begin.at)} ${y(begin.count)}${steps.join('')}H${WIDTH}`;
  return (
    <svg
      class={`curve ${tone}`}
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={label}
    >
      <path class="under" d={`${line}V${HEIGHT}H${x(begin.at)}Z`} />
      <path class="line" d={line} />
    </svg>
  );
}

function scaleOf(counts: readonly number[], ground: Ground): [low: number, high: number] {
  const [least, most] = [Math.min(...counts), Math.max(...counts)];
  if (ground === 'zero') return [0, Math.max(1, most)];
  const room = Math.max(2, most * 0.05, most - least);
  const low = Math.max(0, least - room / 2);
  return [low, Math.max(most + room / 4, low + 1)];
}

function rounded(value: number): number {
  return Math.round(value * 10) / 10;
}

/** `last 400; 390 to 402 since 7 days ago`; and the most. */
export function curveWords(
  points: readonly Point[],
  fromMs: number,
  nowMs: number,
  isPast = false,
): { text: string; most: number } {
  const shown = pointsSince(points, fromMs);
  const counts = shown.map(({ count }) => count);
  const [first, last] = [shown[0], shown.at(-1)];
  if (!first || !last) return { text: 'not known', most: 0 };
  const [least, most] = [Math.min(...counts), Math.max(...counts)];
  const range = least === most ? 'the same' : `${countText(least)} to ${countText(most)}`;
  const since = agoText(Math.max(first.at, fromMs), nowMs);
  return {
    text: `last ${countText(last.count)}; ${range} since ${isPast ? since.replace(/ ago$/, ' before') : since}`,
    most,
  };
}

// A tile: what it counts, how many, how that changed, and the curve.

interface TileProps extends Pick<CurveProps, 'points' | 'ground'> {
  title: string;
  /** Colour of its curve: that of a trouble only while there is one. */
  tone: 'calm' | 'bad' | 'wait' | 'accent';
  href?: string | undefined;
  nowMs: number;
  spanMs: number;
  /** Of a number that was read: it is as old as its last point. */
  isRead?: true;
  /** Beside the number, such as `of 12`. */
  beside?: string | undefined;
  /** In place of a number that is not known. */
  unknown?: string;
  /** In place of how the number changed, and of a curve, where only the last number is known. */
  change?: string;
}

export function Tile(props: TileProps) {
  const { title, tone, href, nowMs, spanMs, ground, isRead, beside, unknown, change } = props;
  const points = pointsSince(props.points, nowMs - spanMs);
  const last = points.at(-1);
  const changed = change ?? changeWords(points, nowMs, spanMs);
  const name = href === undefined ? title : <Link href={href}>{title}</Link>;
  return (
    <section class="tile">
      <h2>{name}</h2>
      {last === undefined ? (
        <p class="quiet">{unknown ?? 'Nothing was read yet.'}</p>
      ) : (
        <>
          <p class="tile-count">
            <b>{countText(last.count)}</b> {beside === undefined ? null : <span class="quiet">{beside}</span>}
          </p>
          <p class="quiet">
            {changed}
            {isRead ? (
              <>
                {changed === '' ? 'read ' : ' · read '}
                <Ago at={last.at} nowMs={nowMs} />
              </>
            ) : null}
          </p>
          {change === undefined ? (
            <Curve
              points={points}
              fromMs={nowMs - spanMs}
              toMs={nowMs}
              ground={ground}
              tone={tone}
              label={`${title}: ${curveWords(points, nowMs - spanMs, nowMs).text}`}
            />
          ) : null}
        </>
      )}
    </section>
  );
}

/** `9 more than 7 days ago`: as far back as it is known. */
function changeWords(points: readonly Point[], nowMs: number, spanMs: number): string {
  const [first, last] = [points[0], points.at(-1)];
  if (!first || !last) return '';
  const since = agoText(Math.max(first.at, nowMs - spanMs), nowMs);
  if (since === 'just now') return 'first read just now';
  const change = last.count - first.count;
  if (change === 0) return `the same as ${since}`;
  return `${countText(Math.abs(change))} ${change > 0 ? 'more' : 'fewer'} than ${since}`;
}

// Bars by hour or another step of time: what was done upward, what was undone downward.

export interface BarSeries {
  /** `2 devices banned`. */
  words: (count: number) => string;
  /** The class of its colour. */
  tone: string;
  isDown: boolean;
  /** By step of time; step 0 is the last one. */
  counts: ReadonlyMap<number, number>;
}

const BAR = 10;
const BARS_HEIGHT = 140;

interface StepBarsProps {
  series: readonly BarSeries[];
  steps: number;
  stepMs: number;
  untilMs: number;
  /** What stands below its ends; null: what is around it has one axis of time for all. */
  ends?: null;
}

export function StepBars({ series, steps, stepMs, untilMs, ends }: StepBarsProps) {
  const sum = (step: number, isDown: boolean) =>
    series.reduce((total, one) => total + (one.isDown === isDown ? (one.counts.get(step) ?? 0) : 0), 0);
  const all = Array.from({ length: steps }, (_, at) => steps - 1 - at);
  const up = Math.max(1, ...all.map((step) => sum(step, false)));
  const down = Math.max(0, ...all.map((step) => sum(step, true)));
  const spanMs = steps * stepMs;
  const unit = (BARS_HEIGHT - 2) / (up + down);
  const ground = rounded(1 + up * unit);
  const totals = series.map(({ words, counts }) => words([...counts.values()].reduce((a, b) => a + b, 0)));
  const atOf = (step: number) => untilMs - (step + 1) * stepMs;
  return (
    <figure class="hours">
      <figcaption class="legend">
        {series.map(({ tone }, at) => (
          <span>
            <svg class="swatch" viewBox="0 0 10 10" aria-hidden="true">
              <rect class={tone} width="10" height="10" rx="2" />
            </svg>{' '}
            {totals[at]}
          </span>
        ))}
      </figcaption>
      <div class="hours-axis quiet">
        <span>{countText(up)}</span>
      </div>
      <svg
        viewBox={`0 0 ${steps * BAR} ${BARS_HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`In ${spanText(spanMs)}, each ${spanText(stepMs)}: ${totals.join(', ')}. The numbers are below.`}
      >
        <path class="grid" d={`M0 1H${steps * BAR}`} />
        {all.flatMap((step, at) => {
          let [top, bottom] = [ground, ground];
          return series.flatMap(({ tone, isDown, counts, words }) => {
            const count = counts.get(step) ?? 0;
            if (count === 0) return [];
            const height = rounded(count * unit);
            const y = isDown ? bottom : rounded(top - height);
            if (isDown) bottom = rounded(bottom + height);
            else top = y;
            return [
              <rect class={tone} x={String(at * BAR + 1)} y={String(y)} width={String(BAR - 2)} height={String(height)}>
                <title>{`${timeText(atOf(step)).slice(0, 16)} UTC: ${words(count)}`}</title>
              </rect>,
            ];
          });
        })}
        <path class="ground" d={`M0 ${ground}H${steps * BAR}`} />
      </svg>
      {ends === null ? null : (
        <div class="hours-ends quiet">
          <span>{spanText(spanMs)} ago</span>
          <span>{spanText(spanMs / 2)} ago</span>
          <span>now</span>
        </div>
      )}
    </figure>
  );
}

interface ReachProps {
  count: number;
  of: number;
  limit: number | undefined;
  noun: string;
}

/** How much of a fleet something touches, and how much its limit allows. */
export function Reach({ count, of, limit, noun }: ReachProps) {
  const percent = (part: number) => rounded((100 * Math.min(part, of)) / of);
  const share = percent(count) < 0.1 ? 'less than 0.1' : percent(count);
  const [tone, words, mark] =
    limit === undefined
      ? (['under', ''] as const)
      : ([
          count > limit ? 'over' : 'under',
          `; the limit of its rule is ${countText(limit)} in a run`,
          percent(limit),
        ] as const);
  return (
    <p class="reach">
      <Bar percent={percent(count)} tone={tone} limit={mark} /> {countText(count)} of {plural(of, noun)} ({share} %)
      {words}
    </p>
  );
}
