// report: texts on a page or in an HTML report. In: text that may come from a device, hostile. Out: elements: hidden characters are
// spelled out, long names are cut, and no text changes the direction of its neighbours. hono/jsx escapes the rest.
import type { Child } from 'hono/jsx';
import { shownName } from '../../domain/clip.ts';
import { isoTime, timeText } from '../../domain/time-text.ts';
import { showHidden } from '../hostile-text.ts';

/** A name that somebody chose: of a device, a person, a service. */
export function Name({ children }: { children: string }) {
  return <bdi>{showHidden(shownName(children))}</bdi>;
}

/**
 * A sentence that may hold such names. What stands in backticks, a command or a word of the configuration, is code; a time is shown in
 * the reader's zone, too.
 */
export function Words({ children }: { children: string }) {
  const parts = showHidden(children).split('`');
  const isPaired = parts.length % 2 === 1;
  return (
    <bdi>
      {isPaired
        ? parts.map((part, at) => (at % 2 === 1 ? <code>{part}</code> : withTimes(part)))
        : withTimes(parts.join('`'))}
    </bdi>
  );
}

/** As `timeText` and `timeCell` write them. */
const TIME = /(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?: UTC|Z))/;

function withTimes(text: string): Child {
  if (!TIME.test(text)) return text;
  return text.split(TIME).map((part, at) => {
    const ms = at % 2 === 1 ? Date.parse(part) : Number.NaN;
    return Number.isNaN(ms) ? part : <When at={ms} />;
  });
}

/** An id, a serial number, an address, a command: whole, and selected by one click. */
export function Code({ children }: { children: string }) {
  return <code class="id">{showHidden(children)}</code>;
}

/** A word of the product, such as the name of an action: never broken. */
export function Term({ children }: { children: string }) {
  return <code class="term">{showHidden(children)}</code>;
}

/** In UTC without JavaScript; otherwise in the reader's zone, with UTC when pointed at. */
export function When({ at }: { at: number | string }) {
  const ms = typeof at === 'number' ? at : Date.parse(at);
  return (
    <time datetime={isoTime(ms)} title={timeText(ms)}>
      {timeText(ms)}
    </time>
  );
}
