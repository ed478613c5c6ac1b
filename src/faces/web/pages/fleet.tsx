// web: lists of devices, users and services, as the last trusted reading showed them. In: filters, an order, what is searched. Out: a page, each row of
// which leads to why. Its box suggests names of rows that are found so far, with JavaScript; without it, the form is enough.

import type { z } from 'zod';
import type { ListedShown } from '../../../contract/nouns.ts';
import { fleetQuery } from '../../../contract/records.ts';
import type { Output } from '../../../contract/table.ts';
import { LISTED_OF, type ListedName } from '../../../domain/listed-facts.ts';
import { SOURCE_OF, SUBJECT_KINDS, type SubjectKind } from '../../../domain/subjects.ts';
import type { HttpDeps } from '../../http/deps.ts';
import { operationsOf, readSearch } from '../../http/route.ts';
import { subjectPath } from '../../report/document.ts';
import { countText, plural, showHidden } from '../../report/fact-text.ts';
import { filterWord, NOT_SORTED, notReadText } from '../../report/fleet-view.ts';
import { Form, Link, useAddress } from '../../report/html/link.tsx';
import { type Column, Mark, Name, type Row, Table, Term, When, Words } from '../../report/html/text.tsx';
import { addressOf } from '../address.ts';
import { readPage } from '../answer.tsx';
import { Pager } from '../parts/act.tsx';

const query = fleetQuery.omit({ limit: true });
type Asked = z.infer<typeof query>;
type Listed = Output<'listSubjects'>;

const HEADS: Record<ListedName | 'name', string> = {
  name: 'Name',
  banned: 'Banned',
  compromised: 'Compromised',
  level: 'Trust',
  platform: 'Platform',
  enabled: 'On',
};

const pathOf = (kind: SubjectKind) => `/${SOURCE_OF[kind]}` as const;

export function fleetPages(deps: HttpDeps) {
  return SUBJECT_KINDS.map((kind) =>
    readPage(deps, pathOf(kind), async (context) => {
      const asked = readSearch(context, query);
      const listed = await operationsOf(deps, context).listSubjects({ ...asked, kind });
      const rules = deps.rules().filter(({ subject }) => subject === kind);
      return {
        title: titleOf(kind),
        section: '/devices' as const,
        body: <Fleet {...{ kind, asked, listed }} rules={rules.map(({ id }) => id)} />,
      };
    }),
  );
}

function titleOf(kind: SubjectKind): string {
  return { device: 'Devices', user: 'Users', service: 'Services' }[kind];
}

interface FleetProps {
  kind: SubjectKind;
  asked: Asked;
  listed: Listed;
  /** Ids of rules about this kind. */
  rules: readonly string[];
}

function Fleet({ kind, asked, listed, rules }: FleetProps) {
  const { next, readAt, total, isSorted } = listed;
  const { sort, order, after, ...filters } = asked;
  const isNarrowed = Object.values(filters).some((value) => value !== undefined);
  return (
    <>
      <h1>{titleOf(kind)}</h1>
      <nav class="act" aria-label="Kinds">
        {SUBJECT_KINDS.map((one) => (
          <Link class="button" href={pathOf(one)} aria-current={one === kind ? 'page' : undefined}>
            {titleOf(one)}
          </Link>
        ))}
      </nav>
      <section class="card">
        {readAt === null ? (
          <p class="empty">{notReadText(kind)}</p>
        ) : (
          <>
            <Filters {...{ kind, asked, listed, rules }} />
            <p>
              {total === null ? null : (
                <>
                  <b>{plural(total, kind)}</b>
                  {isNarrowed ? ' like this' : ''},{' '}
                </>
              )}
              as the last trusted reading showed {total === 1 ? 'it' : 'them'} at <When at={readAt} />.{' '}
              {isNarrowed || after !== undefined ? <Link href={pathOf(kind)}>Show all</Link> : null}
            </p>
            {isSorted ? null : <p class="notice wait">{NOT_SORTED}</p>}
            <Table
              caption={`${titleOf(kind)}, by ${HEADS[sort].toLowerCase()}`}
              columns={columnsOf(kind, asked, isSorted)}
              rows={listed.subjects.map(rowOf)}
              empty={next === null ? 'There is none like this.' : 'None among those that were looked at so far.'}
            />
            <Pager
              next={next === null ? undefined : addressOf(pathOf(kind), { ...asked, after: next })}
              text={listed.subjects.length === 0 ? 'Look at more' : 'Next'}
            />
          </>
        )}
      </section>
    </>
  );
}

function Filters({ kind, asked, listed: { counts, subjects }, rules }: FleetProps) {
  const at = useAddress();
  const named = [...new Set(subjects.map(({ name }) => name))].filter((name) => name !== '').slice(0, 10);
  return (
    <search>
      <Form class="act" method="get" action={pathOf(kind)}>
        <label class="field">
          <span>Words of the name, or an id in full</span>
          <input
            type="search"
            name="q"
            value={asked.q}
            maxlength={1000}
            list="suggested"
            autocomplete="off"
            hx-get={at(pathOf(kind))}
            hx-trigger="input changed delay:150ms"
            hx-include="closest form"
            hx-select="#suggested"
            hx-target="#suggested"
            hx-swap="outerHTML"
          />
          <datalist id="suggested">
            {asked.q === undefined ? null : named.map((name) => <option value={showHidden(name)} />)}
          </datalist>
        </label>
        {LISTED_OF[kind].map((name) => (
          <Choice label={HEADS[name]} name={name} chosen={asked[name]} counts={counts[name] ?? {}} />
        ))}
        {kind === 'device' ? (
          <label class="field">
            <span>Owner</span>
            <input type="text" name="owner" value={asked.owner} maxlength={1000} size={20} />
          </label>
        ) : null}
        <label class="field">
          <span>Rule that matches</span>
          <select name="rule">
            <option value="">any or none</option>
            {[...new Set([...rules, ...(asked.rule === undefined ? [] : [asked.rule])])].map((rule) => (
              <option value={rule} selected={rule === asked.rule}>
                {showHidden(rule)}
              </option>
            ))}
          </select>
        </label>
        {asked.sort === 'name' ? null : <input type="hidden" name="sort" value={asked.sort} />}
        {asked.order === 'asc' ? null : <input type="hidden" name="order" value={asked.order} />}
        <button type="submit">Show</button>
      </Form>
    </search>
  );
}

interface ChoiceProps {
  label: string;
  name: ListedName;
  chosen: string | undefined;
  /** Of all of this kind, by value. */
  counts: Readonly<Record<string, number>>;
}

function Choice({ label, name, chosen, counts }: ChoiceProps) {
  const values = [...new Set([...Object.keys(counts), ...(chosen === undefined ? [] : [chosen])])];
  return (
    <label class="field">
      <span>{label}</span>
      <select name={name}>
        <option value="">all</option>
        {values.map((value) => (
          <option value={value} selected={value === chosen}>
            {filterWord(name, value)} ({countText(counts[value] ?? 0)})
          </option>
        ))}
      </select>
    </label>
  );
}

function columnsOf(kind: SubjectKind, asked: Asked, isSorted: boolean): (Column | string)[] {
  const sortable = (name: ListedName | 'name'): Column => {
    const isNow = isSorted && asked.sort === name;
    // What is so comes first: the banned, the compromised. Names and levels begin with the least.
    const first = name === 'banned' || name === 'compromised' ? 'desc' : 'asc';
    const order = isNow ? (asked.order === 'asc' ? 'desc' : 'asc') : first;
    const href = addressOf(pathOf(kind), { ...asked, after: undefined, sort: name, order });
    const is = isNow ? (asked.order === 'asc' ? 'ascending' : 'descending') : undefined;
    const mark = is === undefined ? '' : is === 'ascending' ? ' ↑' : ' ↓';
    return {
      head: HEADS[name],
      sort: { link: isSorted ? <Link href={href}>{`${HEADS[name]}${mark}`}</Link> : HEADS[name], is },
    };
  };
  return [sortable('name'), ...LISTED_OF[kind].map(sortable), { head: 'Rules that match', kind: 'id' }, 'In force'];
}

function rowOf(one: ListedShown): Row {
  const { kind, rules, actions } = one;
  return {
    cells: [
      <Subject one={one} />,
      ...LISTED_OF[kind].map((name) => <Fact one={one} name={name} />),
      rules.map((rule) => (
        <div>
          <Link href={`/rules/${encodeURIComponent(rule)}`}>
            <Words>{rule}</Words>
          </Link>
        </div>
      )),
      actions.map((action) => (
        <div>
          <Term>{action}</Term>
        </div>
      )),
    ],
  };
}

const OWNERS_MAX = 2;

/** The name leads to all that is known. Below, on one line, by what else it is known. */
function Subject({ one: { kind, id, name, serial, owners } }: { one: ListedShown }) {
  const all = owners ?? [];
  const more = all.length > OWNERS_MAX ? [`and ${all.length - OWNERS_MAX} more`] : [];
  const known = kind === 'device' ? [serial, ...all.slice(0, OWNERS_MAX), ...more] : name === '' ? [] : [id];
  return (
    <>
      <Link href={subjectPath(kind, id)}>
        <b>
          <Name>{name === '' ? id : name}</Name>
        </b>
      </Link>
      <div class="quiet">
        <Words>{known.filter((text) => text !== '').join(' · ')}</Words>
      </div>
    </>
  );
}

function Fact({ one, name }: { one: ListedShown; name: ListedName }) {
  if (name === 'platform')
    return (
      <>
        <Name>{one.platform}</Name>
        <div class="quiet">
          <Name>{one.model}</Name>
        </div>
      </>
    );
  const value = one[name];
  if (value === null) return <span class="quiet">not known</span>;
  if (name === 'level')
    return <Mark word={String(value)} tone={value === 'Low' || value === 'AlwaysDeny' ? 'bad' : 'calm'} />;
  const [yes, no] = [filterWord(name, 'true'), filterWord(name, 'false')];
  if (name === 'enabled') return <Mark word={value ? yes : no} tone={value ? 'good' : 'wait'} />;
  return value ? <Mark word={yes} tone={name === 'compromised' ? 'bad' : 'wait'} /> : <span class="quiet">{no}</span>;
}
