// The guide: the pages of docs/, and the README as the first one, as static pages with a search. In: Markdown. Out: a folder that any server can
// serve, dist/guide unless another one is given; the endpoint serves that at /guide. Usage: npm run docs [-- FOLDER]
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, posix, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Marked } from 'marked';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const OUT = process.argv[2] ?? join(ROOT, 'dist/guide');

/** In the order of the navigation, by what somebody comes for. What no group names stands in the last one. */
const GROUPS = {
  'Start here': ['README', 'first-rule', 'going-live', 'rules', 'glossary', 'roles', 'why-not'],
  'When you need it': ['undo', 'mail', 'slack', 'operator', 'actions', 'history', 'operating', 'sign-in', 'organizations', 'postgresql'],
  'Look it up': ['commands', 'configuration', 'http', 'facts', 'metrics', 'library', 'management-api', 'CHANGELOG'],
  'Trust it': ['SECURITY', 'audit', 'checks', 'failure-modes', 'flow', 'architecture'],
  'All the rest': [],
};
const FIRST = 'README.md';
const NOTED_MAX = 2_000;
const INSTEAD = { [FIRST]: 'index.html', 'docs/decisions': 'decisions/index.html' };

const files = [FIRST, 'SECURITY.md', 'CHANGELOG.md', ...markdownIn('docs')];
const pages = new Map(files.map((file) => [file, { file, out: outOf(file), text: readFileSync(join(ROOT, file), 'utf8') }]));
for (const page of pages.values()) page.title = /^# (.+)$/m.exec(page.text)?.[1].replaceAll('`', '') ?? page.file;
const decisions = [...pages.values()].filter(({ file }) => file.startsWith('docs/decisions/'));
const copied = new Set(readdirSync(join(ROOT, 'docs')).filter((name) => /\.(png|svg|json)$/.test(name)));
pages.set('docs/decisions', {
  file: 'docs/decisions',
  out: INSTEAD['docs/decisions'],
  title: 'Decisions',
  text: `# Decisions\n\n${decisions.map(({ file, title }) => `- [${title}](decisions/${posix.basename(file)})`).join('\n')}\n`,
});

rmSync(OUT, { recursive: true, force: true });
const sections = [];
for (const page of pages.values()) write(page.out, pageOf(page));
for (const name of copied) copyFileSync(join(ROOT, 'docs', name), join(OUT, name));
for (const name of ['guide.css', 'guide.js']) copyFileSync(join(ROOT, '.ci', name), join(OUT, name));
copyFileSync(join(ROOT, 'src/faces/report/html/page.css'), join(OUT, 'page.css'));
write('search.json', JSON.stringify(sections));
process.stderr.write(`${pages.size} pages in ${relative(process.cwd(), OUT) || '.'}\n`);

function markdownIn(folder) {
  const names = readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' });
  return names.filter((name) => name.endsWith('.md')).map((name) => `${folder}/${name}`).sort();
}

function outOf(file) {
  return INSTEAD[file] ?? file.replace(/^docs\//, '').replace(/\.md$/, '.html').toLowerCase();
}

function write(name, text) {
  mkdirSync(dirname(join(OUT, name)), { recursive: true });
  writeFileSync(join(OUT, name), text);
}

function escaped(text) {
  return text.replace(/[&<>"]/g, (sign) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[sign]);
}

/** As GitHub makes it, so that links work in both places. */
function anchorOf(text) {
  return text.toLowerCase().replace(/[^\p{L}\p{N} _-]/gu, '').replaceAll(' ', '-');
}

/** The address within the guide; undefined where the guide does not have it. */
function addressOf(page, href) {
  if (/^(https?:|#)/.test(href)) return href;
  const [path = '', anchor] = href.split('#');
  const base = page.file === 'docs/decisions' ? 'docs' : posix.dirname(page.file);
  const target = posix.join(base, path).replace(/\/$/, '');
  const name = pages.get(target)?.out ?? (copied.has(target.replace(/^docs\//, '')) ? target.replace(/^docs\//, '') : undefined);
  if (name === undefined) return undefined;
  return `${posix.relative(posix.dirname(page.out), name)}${anchor === undefined ? '' : `#${anchor}`}`;
}

function pageOf(page) {
  const seen = new Map();
  const headings = [];
  const marked = new Marked({ gfm: true });
  marked.use({
    renderer: {
      heading({ tokens, depth, text }) {
        const plain = text.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').replace(/[`*]/g, '');
        const anchor = anchorOf(plain);
        const count = seen.get(anchor) ?? 0;
        seen.set(anchor, count + 1);
        const id = count === 0 ? anchor : `${anchor}-${count}`;
        headings.push({ id, depth, text: plain });
        return `<h${depth} id="${escaped(id)}">${this.parser.parseInline(tokens)}</h${depth}>\n`;
      },
      link({ href, tokens }) {
        const text = this.parser.parseInline(tokens);
        const address = addressOf(page, href);
        return address === undefined ? text : `<a href="${escaped(address)}">${text}</a>`;
      },
      image({ href, text }) {
        return `<img src="${escaped(addressOf(page, href) ?? href)}" alt="${escaped(text)}">`;
      },
      code({ text, lang }) {
        return lang === 'mermaid' ? '' : `<pre tabindex="0"><code>${escaped(text)}</code></pre>\n`;
      },
      table(token) {
        const cells = (row, tag) => row.map(({ tokens }) => `<${tag}>${this.parser.parseInline(tokens)}</${tag}>`).join('');
        const rows = token.rows.map((row) => `<tr>${cells(row, 'td')}</tr>`).join('\n');
        return `<div class="wide" tabindex="0"><table><thead><tr>${cells(token.header, 'th')}</tr></thead>\n<tbody>${rows}</tbody></table></div>\n`;
      },
    },
  });
  const body = marked.parse(page.text);
  note(page, headings);
  const up = posix.relative(posix.dirname(page.out), '') || '.';
  const toc = headings.filter(({ depth }) => depth === 2);
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escaped(page.title)} · Trustward guide</title>
<link rel="stylesheet" href="${up}/page.css">
<link rel="stylesheet" href="${up}/guide.css">
<script src="${up}/guide.js" data-up="${up}" defer></script>
</head>
<body>
<a class="skip" href="#main">Skip to the content</a>
<header class="guide-head"><a class="brand" href="${up}/index.html">Trustward guide</a>
<a class="to-shelf" href="#pages">All pages</a>
<form role="search" id="search" hidden><label class="unseen" for="find">Search the guide</label>
<input id="find" type="search" placeholder="Search the guide" autocomplete="off"></form></header>
<div class="guide">
<main id="main" tabindex="-1"><div id="found" role="status"></div>
<article>
${body}</article></main>
${toc.length < 3 ? '' : `<nav class="toc" aria-label="On this page"><b>On this page</b><ul>${toc.map(({ id, text }) => `<li><a href="#${escaped(id)}">${escaped(text)}</a></li>`).join('')}</ul></nav>`}
<nav class="shelf" id="pages" aria-label="Guide">${shelf(page, up)}</nav>
</div>
</body>
</html>
`;
}

function shelf(current, up) {
  const left = new Map([...pages].filter(([file]) => !file.startsWith('docs/decisions/')));
  return Object.entries(GROUPS)
    .map(([name, wanted]) => {
      const keys = wanted.map((one) => [`${one}.md`, `docs/${one}.md`].find((file) => left.has(file))).filter(Boolean);
      const shown = (wanted.length === 0 ? [...left.keys()] : keys).map((file) => left.get(file));
      for (const { file } of shown) left.delete(file);
      const items = shown.map((page) => {
        const isHere = page === current ? ' aria-current="page"' : '';
        return `<li><a href="${up}/${page.out}"${isHere}>${escaped(page.file === FIRST ? 'What it is, and ten minutes' : page.title)}</a></li>`;
      });
      return `<b>${name}</b><ul>${items.join('')}</ul>`;
    })
    .join('\n');
}

/** For the search: the text below each heading, or its beginning. The changelog would be found for every word. */
function note(page, headings) {
  if (page.file === 'CHANGELOG.md') return;
  const parts = page.text.replace(/```[\s\S]*?```/g, (block) => block.replace(/^#/gm, ' #')).split(/^#{1,6} .+$/m).slice(1);
  for (const [index, text] of parts.entries()) {
    const { id, text: title } = headings[index] ?? {};
    if (title === undefined) continue;
    const plain = text.replace(/\]\([^)]*\)/g, '').replace(/[`*|[\]]|^[-:| ]+$/gm, ' ').replace(/\s+/g, ' ').trim().slice(0, NOTED_MAX);
    sections.push([`${page.out}#${id}`, page.title, title, plain]);
  }
}
