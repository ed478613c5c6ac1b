// organizations: their part of `/readyz` for who may see all of them. In: the holder. Out: one check. It shows how much is wrong and in which lines of
// which files; what stands there is left to the log.
import { refusalText } from '../../faces/report/fact-text.ts';
import type { OrganizationHolder } from './load-organizations.ts';

/** Without the folder. INVARIANT: the names of the files are ids, or were meant to be: no other text comes through. */
const PLACE = /^(?:.*\/)?([a-z0-9-]+\.ya?ml):(\d+):\d+: /;

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
  const rest = '`trustward organizations check` and the log have the details';
  return { name, ok: false, text: `${refusalText(wrong, PLACE)}; the last good set of ${text} stays; ${rest}` };
}
