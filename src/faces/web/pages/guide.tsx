// web: `/guide`: the documentation as `npm run docs` renders it, open to anybody: it shows nothing of an organization. In: a folder of static pages.
// Out: its files. Where it was not rendered, a page that says how to get it.
import { readdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { HttpDeps } from '../../http/deps.ts';
import { pageAsked, sentAs } from '../../http/mount.ts';
import { PAGE_HEADERS, Problem } from '../../http/problem.ts';
import type { Ctx, Route } from '../../http/route.ts';
import { answerPage } from '../answer.tsx';
import { zippedResponse } from '../assets.ts';

/** The same place from the sources and from what is built. */
const FOLDER = fileURLToPath(new URL('../../../../dist/guide/', import.meta.url));
const TYPES: { readonly [ending: string]: string } = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
};

export function guidePages(deps: HttpDeps, folder = FOLDER): Route[] {
  let known: ReadonlySet<string> | undefined;
  const names = () => {
    // One that is rendered meanwhile is found.
    known ??= filesIn(folder);
    return known ?? new Set();
  };
  const handle = async (context: Ctx): Promise<Response> => {
    const name = pageAsked(context).split('?')[0]?.split('/guide/')[1] || 'index.html';
    if (names().size === 0) return answerPage(deps, context, { title: 'Guide', body: <NotRendered /> });
    if (!names().has(name)) throw new Problem(404, 'not-found', 'Not found', `the guide has no page \`${name}\``);
    const bytes = await readFile(join(folder, name));
    const headers = { ...PAGE_HEADERS, 'Content-Type': TYPES[extname(name)] ?? 'application/octet-stream' };
    return extname(name) === '.png'
      ? new Response(bytes, { headers })
      : zippedResponse(context, bytes.toString(), 200, headers);
  };
  const at = (path: string): Route => ({ method: 'GET', path, scope: undefined, handle });
  return [
    {
      method: 'GET',
      path: '/guide',
      scope: undefined,
      handle: async (context) => context.redirect(sentAs(context, '/guide/')),
    },
    at('/guide/'),
    at('/guide/:page'),
    at('/guide/:folder/:page'),
  ];
}

/** Undefined where there is none. */
function filesIn(folder: string): ReadonlySet<string> | undefined {
  try {
    return new Set(readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => TYPES[extname(name)]));
  } catch {
    return undefined;
  }
}

function NotRendered() {
  return (
    <>
      <h1>Guide</h1>
      <p>The guide is not part of this copy of Trustward: its pages have not been rendered.</p>
      <p>
        In a clone, run <code>npm ci</code> and then <code>npm run docs</code>, and load this page again. The package
        and the image have it. The same texts are the files of <code>docs</code>.
      </p>
    </>
  );
}
