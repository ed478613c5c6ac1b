// web: the files that pages load: one stylesheet, two scripts of ours, and htmx from its package. In: files, read once at the start.
// Out: routes whose path has a hash of the content, so that a browser may keep each for ever.

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { promisify } from 'node:util';
import { gzip, gzipSync } from 'node:zlib';
import type { Ctx, Route } from '../http/route.ts';

const zip = promisify(gzip);

function acceptsZipped({ req }: Ctx): boolean {
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

const require = createRequire(import.meta.url);
const own = (path: string) => new URL(path, import.meta.url);
const SCRIPT = 'text/javascript; charset=utf-8';
const STYLE = 'text/css; charset=utf-8';

const FILES = {
  'page.css': { file: own('../report/html/page.css'), type: STYLE },
  'filter.js': { file: own('../report/html/filter.js'), type: SCRIPT },
  'page.js': { file: own('page.js'), type: SCRIPT },
  'htmx.js': { file: require.resolve('htmx.org/dist/htmx.min.js'), type: SCRIPT },
} as const;

export type AssetName = keyof typeof FILES;

interface Asset {
  path: string;
  type: string;
  plain: Buffer<ArrayBuffer>;
  zipped: Buffer<ArrayBuffer>;
}

const loaded = new Map<AssetName, Asset>();

function assetOf(name: AssetName): Asset {
  const known = loaded.get(name);
  if (known) return known;
  const plain = Buffer.from(readFileSync(FILES[name].file));
  const mark = createHash('sha256').update(plain).digest('hex').slice(0, 16);
  const asset = {
    path: `/assets/${mark}/${name}`,
    type: FILES[name].type,
    plain,
    zipped: Buffer.from(gzipSync(plain)),
  };
  loaded.set(name, asset);
  return asset;
}

export function assetPath(name: AssetName): string {
  return assetOf(name).path;
}

/** Open to anybody: they are in the package that everybody can read. `base`: what their paths begin with here. */
export function assetRoutes(names = Object.keys(FILES) as AssetName[], base = ''): Route[] {
  return names.map((name) => {
    const { path, type, plain, zipped } = assetOf(name);
    return {
      method: 'GET',
      path: `${base}${path}`,
      scope: undefined,
      handle: (context) => {
        const isZipped = acceptsZipped(context);
        return new Response(isZipped ? zipped : plain, {
          headers: {
            'Content-Type': type,
            'Cache-Control': 'public, max-age=31536000, immutable',
            Vary: 'Accept-Encoding',
            ...(isZipped && { 'Content-Encoding': 'gzip' }),
          },
        });
      },
    };
  });
}
