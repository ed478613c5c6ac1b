// http: the refusal of a form that another site sends. In: a POST of a page. Out: nothing, or 403 with the expected Origin. A cookie
// alone is no proof of intent: a browser may send it whoever made the form.
import { Problem } from './problem.ts';
import type { Ctx } from './route.ts';

/** @param publicUrl TRUSTWARD_PUBLIC_URL. Errors: Problem 403. */
export function demandOrigin({ req }: Ctx, publicUrl: string | undefined): void {
  const own = URL.parse(`http://${req.header('host') ?? new URL(req.url).host}`)?.origin;
  const ours = [own, publicUrl === undefined ? undefined : new URL(publicUrl).origin].filter(
    (each) => each !== undefined,
  );
  const origin = req.header('origin');
  const site = req.header('sec-fetch-site');
  if (origin !== undefined && ours.includes(origin) && (site === undefined || site === 'same-origin')) return;
  const expected = ours.map((each) => `\`${each}\``).join(' or ');
  const given = origin === undefined ? 'no Origin' : `the Origin \`${origin}\``;
  const found = site === undefined || site === 'same-origin' ? given : `${given} and \`Sec-Fetch-Site: ${site}\``;
  throw new Problem(
    403,
    'foreign-origin',
    'The form comes from another site',
    `the request has ${found}, and ${expected} was expected: send it from a page of this Trustward; behind a proxy, set TRUSTWARD_PUBLIC_URL`,
  );
}
