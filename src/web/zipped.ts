// web: answers compressed for who accepts that. In: a request, a text. Out: a response. INVARIANT: no page has a secret beside what a
// stranger can put into it (a form has no token, a cookie is not shown), so the length of an answer reveals none.
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { Ctx } from '../http/route.ts';

const zip = promisify(gzip);

export function acceptsZipped({ req }: Ctx): boolean {
  return /\bgzip\b(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/.test(req.header('accept-encoding') ?? '');
}

export async function zippedResponse(
  context: Ctx,
  text: string,
  status: number,
  given: Record<string, string>,
): Promise<Response> {
  const headers = { ...given, Vary: 'Accept-Encoding' };
  if (!acceptsZipped(context)) return new Response(text, { status, headers });
  return new Response(await zip(text), { status, headers: { ...headers, 'Content-Encoding': 'gzip' } });
}
