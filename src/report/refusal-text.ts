// report: what is said in public of a refused folder, of rules or of organizations. In: its problems, one line each. Out: how many, and which lines
// of which files.
// INVARIANT: places only: a problem's text quotes values, and names folders of the server.
import { clip } from '../domain/clip.ts';
import { plural } from './fact-text.ts';
import { showHidden } from './hostile-text.ts';

const PLACES_MAX = 5;
const NAME_MAX = 80;

const PLACE = /^(.+?):(\d+):\d+: /;

/** `the folder was refused (2 problems: a.yaml:3, b.yaml:7)`. `place`: the file and the line that a problem begins with. */
export function refusalText(problems: readonly string[], place = PLACE): string {
  return `the folder was refused (${problems.length} problem${problems.length === 1 ? '' : 's'}${placesOf(problems, place)})`;
}

/** What is judged by until the folder is in order. `loaded`: rules of the last good set of this process; `isDaemon`: nobody else judges. */
export function meanwhileText(loaded: number, isDaemon: boolean): string {
  if (!isDaemon) return 'each worker goes on with the last good set that it has read, and without one judges nothing';
  return loaded > 0
    ? `the last good set of ${plural(loaded, 'rule')} stays active`
    : 'no rules are loaded: nothing is judged';
}

/** `: a.yaml:3, b.yaml:7 and 2 more`. */
function placesOf(problems: readonly string[], place: RegExp): string {
  const places = problems.flatMap((line) => {
    const [, file, at] = place.exec(line) ?? [];
    return file === undefined ? [] : `${showHidden(clip(file, NAME_MAX))}:${at}`;
  });
  const shown = [...new Set(places)].slice(0, PLACES_MAX);
  const more = new Set(places).size - shown.length;
  return shown.length === 0 ? '' : `: ${shown.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}
