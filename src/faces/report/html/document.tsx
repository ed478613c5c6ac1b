// report: the HTML writer: sections of a document for a page and for a file, and what both show of a subject. In: text that may be hostile.
// Out: elements, escaped. In a file that is mailed nothing leads to a page.

import type { Child } from 'hono/jsx';
import { type Block, headOf, leftWords, type Section, titleOf } from '../document.ts';
import {
  andMore,
  type CellLine,
  countText,
  type Figure,
  linesOf,
  type Part,
  partsOf,
  type Who as Subject,
  showHidden,
} from '../fact-text.ts';
import { Link } from './link.tsx';
import { Code, Mark, Name, Table, Term, Words } from './text.tsx';

export function ShownSection({ section, isPage }: { section: Section; isPage: boolean }) {
  const title = titleOf(section);
  const blocks = [...section.blocks].map((block) => <ShownBlock block={block} title={title} isPage={isPage} />);
  if (title === '') return <>{blocks}</>;
  if (isPage && section.isDetail)
    return (
      <details class="card" id={section.id}>
        <summary>
          <h2>{title}</h2>
        </summary>
        {blocks}
      </details>
    );
  return (
    <section class="card" id={section.id}>
      <h2>{title}</h2>
      {blocks}
    </section>
  );
}

export function ShownBlock({ block, title, isPage }: { block: Block; title: string; isPage: boolean }): Child {
  const inner = (blocks: Iterable<Block>, of: string) =>
    [...blocks].map((one) => <ShownBlock block={one} title={of} isPage={isPage} />);
  switch (block.is) {
    case 'words': {
      const { sentences, tone } = block;
      if (tone === 'lead' || tone === 'plain' || tone === 'quiet')
        return <Sentences of={sentences} {...(tone !== 'plain' && { tone })} />;
      return sentences.length === 0 ? null : (
        <div class={`notice ${tone}`}>
          <Words>{sentences.join(' ')}</Words>
        </div>
      );
    }
    case 'list':
      return (
        <ul>
          {block.items.map((item) => (
            <li>
              <Line of={item} isPage={isPage} />
            </li>
          ))}
        </ul>
      );
    case 'commands':
      return <Commands block={block} isPage={isPage} />;
    case 'facts':
      return (
        <dl class="facts">
          {block.facts.map(({ name, value }) => (
            <>
              <dt>{name}</dt>
              <dd>
                <Line of={value} isPage={isPage} />
              </dd>
            </>
          ))}
        </dl>
      );
    case 'table':
      return (
        <>
          <Table
            caption={title}
            columns={block.columns.map((column) =>
              typeof column === 'string' ? column : { head: headOf(column), kind: 'number' },
            )}
            rows={[...block.rows].map((row) => ({
              cells: row.map((cell) =>
                linesOf(cell)
                  .filter((line) => line !== '')
                  .map((line) => <Line of={line} isPage={isPage} />),
              ),
            }))}
          />
          {block.left === undefined ? null : <p class="quiet">{block.left}</p>}
        </>
      );
    case 'part':
      return (
        <>
          <h3>
            {countText(block.count)} × {partsOf(block.title).map((part) => shownPart(part, isPage))}
          </h3>
          {inner(block.blocks, title)}
        </>
      );
    case 'folds':
      return (
        <>
          {block.folds.map((fold) => (
            <details>
              <summary>
                <Words>{fold.title}</Words>
              </summary>
              {inner(fold.blocks, fold.title)}
            </details>
          ))}
          {block.left > 0 ? <p class="quiet">{leftWords(block.left)}</p> : null}
        </>
      );
  }
}

/** A page has the buttons for it. */
function Commands({
  block: { commands, page },
  isPage,
}: {
  block: Extract<Block, { is: 'commands' }>;
  isPage: boolean;
}) {
  if (isPage && page)
    return (
      <p>
        <Link href={page.path}>{page.name}</Link>
      </p>
    );
  if (commands.length === 0) return null;
  return (
    <p>
      {commands.map((command, at) => (
        <>
          {at > 0 ? ' or ' : ''}
          <Code>{command}</Code>
        </>
      ))}
    </p>
  );
}

/** Sentences of one paragraph; nothing without any. */
export function Sentences({ of, tone }: { of: readonly string[]; tone?: string }) {
  const shown = of.filter((text) => text !== '');
  if (shown.length === 0) return null;
  return (
    <p class={tone}>
      {shown.map((text) => (
        <>
          <Words>{text}</Words>{' '}
        </>
      ))}
    </p>
  );
}

export function Line({ of, isPage = false }: { of: CellLine; isPage?: boolean }) {
  return <div>{partsOf(of).map((part) => shownPart(part, isPage))}</div>;
}

function shownPart({ text, isWhole, is, to }: Part, isPage: boolean): Child {
  if (typeof is === 'object') return <Drawn figure={is} />;
  const isLink = to !== undefined && isPage;
  if (is === 'state') return <Mark word={text} text={showHidden(text)} />;
  if (is === 'term') return isLink ? <Link href={to}>{showHidden(text)}</Link> : <Term>{text}</Term>;
  const shown = isWhole ? <Code>{text}</Code> : <Words>{text}</Words>;
  return isLink ? <Link href={to}>{shown}</Link> : shown;
}

/** The numbers stand beside it: a figure adds nothing for who cannot see it. */
function Drawn({ figure }: { figure: Figure }) {
  if ('counts' in figure) return <Sparkline counts={figure.counts} label={figure.label} />;
  return <ShareBar {...figure} />;
}

interface ShareBarProps {
  used: number;
  allowed: number;
  /** To reach it is wanted. */
  isGoal?: boolean;
}

export function ShareBar({ used, allowed, isGoal = false }: ShareBarProps) {
  const share = allowed === 0 ? (used > 0 ? 1 : 0) : Math.min(1, used / allowed);
  const tone = isGoal ? (share === 1 ? 'reached' : 'under') : used > allowed ? 'over' : share >= 0.8 ? 'near' : 'under';
  return <Bar percent={Math.round(share * 100)} tone={tone} />;
}

interface BarProps {
  percent: number;
  tone: 'over' | 'near' | 'under' | 'reached';
  /** Marked on it. */
  limit?: number | undefined;
}

export function Bar({ percent, tone, limit }: BarProps) {
  return (
    <svg class={`bar ${tone}`} viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
      <rect class="rest" width="100" height="8" rx="2" />
      <rect class="used" width={String(percent)} height="8" rx="2" />
      {limit === undefined ? null : <path class="limit" d={`M${limit} 0V8`} />}
    </svg>
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

// A subject or target as people know it, in HTML: name, serial number, owners and id.

const OWNERS_MAX = 3;

/** `shown`: the serial number that stands beside it already. */
export function Who({ who, href, shown }: { who: Subject; href?: string | undefined; shown?: string }) {
  const { id, name, serial, owners } = who;
  const title = name && name !== id ? <Name>{name}</Name> : <Code>{id}</Code>;
  const all = owners ?? [];
  return (
    <span class="who">
      {href === undefined ? <b>{title}</b> : <Link href={href}>{title}</Link>}
      {serial && serial !== id && serial !== shown ? (
        <span>
          serial <Code>{serial}</Code>
        </span>
      ) : null}
      {all.length > 0 ? (
        <span>
          {all.slice(0, OWNERS_MAX).map((owner, at) => (
            <>
              {at > 0 ? ', ' : ''}
              <Code>{owner}</Code>
            </>
          ))}
          {andMore(all.length - OWNERS_MAX)}
        </span>
      ) : null}
      {name && name !== id ? (
        <span class="quiet">
          <Code>{id}</Code>
        </span>
      ) : null}
    </span>
  );
}
