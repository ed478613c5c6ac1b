// report: how much of a bound is used, as a bar beside its numbers. In: a number and what is allowed. Out: elements without any style of
// their own, so that a strict content policy allows them.
import { countText } from '../fact-text.ts';

/** `allowed` 0: nothing is. The numbers are always there: the bar adds nothing for who cannot see it. */
export function Bar({ used, allowed, noun = '' }: { used: number; allowed: number; noun?: string }) {
  const share = allowed === 0 ? (used > 0 ? 1 : 0) : Math.min(1, used / allowed);
  const tone = used > allowed ? 'over' : share >= 0.8 ? 'near' : 'under';
  return (
    <span class="bar-line">
      <svg class={`bar ${tone}`} viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
        <rect class="rest" width="100" height="8" rx="2" />
        <rect class="used" width={String(Math.round(share * 100))} height="8" rx="2" />
      </svg>
      <span>
        {countText(used)} of {countText(allowed)} {noun}
      </span>
    </span>
  );
}

/** Counts over time, the oldest first. */
export function Sparkline({ counts, label }: { counts: readonly number[]; label: string }) {
  const most = Math.max(1, ...counts);
  const width = 4 * counts.length;
  return (
    <svg class="sparkline" viewBox={`0 0 ${Math.max(width, 4)} 20`} role="img" aria-label={label}>
      {counts.map((count, at) => {
        const height = count === 0 ? 1 : Math.max(2, Math.round((count / most) * 20));
        return <rect x={String(at * 4)} y={String(20 - height)} width="3" height={String(height)} />;
      })}
    </svg>
  );
}
