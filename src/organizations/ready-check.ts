// organizations: their part of `/readyz` for who may see all of them. In: the holder. Out: one check. It shows how much is wrong and in which lines of
// which files; what stands there is left to the log.
import { clip } from '../domain/clip.ts';
import type { OrganizationHolder } from './organization-holder.ts';

const PLACES_MAX = 5;
const NAME_MAX = 80;

export interface OrganizationsCheck {
  name: 'organizations';
  ok: boolean;
  text: string;
}

export function organizationsCheck(holder: Pick<OrganizationHolder, 'all' | 'refusal'>): OrganizationsCheck {
  const name = 'organizations';
  const wrong = holder.refusal;
  const count = holder.all().length;
  const text = `${count} organization${count === 1 ? '' : 's'}`;
  if (wrong === undefined) return { name, ok: true, text };
  const problems = `${wrong.length} problem${wrong.length === 1 ? '' : 's'}${placesOf(wrong)}`;
  const rest = '`trustward organizations check` and the log have the details';
  return { name, ok: false, text: `the folder was refused (${problems}); the last good set of ${text} stays; ${rest}` };
}

/** INVARIANT: places only: a problem's text quotes values. The names of the files are ids, or were meant to be. */
function placesOf(problems: readonly string[]): string {
  const places = problems.flatMap((line) => {
    const [, file, at] = /^(?:.*\/)?([a-z0-9-]+\.ya?ml):(\d+):\d+: /.exec(line) ?? [];
    return file === undefined ? [] : `${clip(file, NAME_MAX)}:${at}`;
  });
  const all = [...new Set(places)];
  const more = all.length - PLACES_MAX;
  return all.length === 0 ? '' : `: ${all.slice(0, PLACES_MAX).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}
