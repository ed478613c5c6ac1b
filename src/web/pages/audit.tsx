// web: the audit: its entries, newest first, by kind, target, person and time; one entry with what was hashed; and verifying it.
// In: filters. Out: pages. It only reads.

import { z } from 'zod';
import { auditedTarget } from '../../domain/decision-filter.ts';
import { AppError } from '../../domain/errors.ts';
import { ownText } from '../../domain/facts.ts';
import type { HttpDeps } from '../../http/deps.ts';
import { nameField, positionField, readSearch, sinceField, sinceOf } from '../../http/input.ts';
import { type Ctx, param, type Route } from '../../http/route.ts';
import { auditView } from '../../report/audit-view.ts';
import { Form, Link } from '../../report/html/link.tsx';
import { Table } from '../../report/html/table.tsx';
import { Code, When, Words } from '../../report/html/text.tsx';
import { addressOf } from '../address.ts';
import { readPage } from '../answer.tsx';
import { AuditLink } from '../parts/audit-link.tsx';
import { AUDIT_COLUMNS, auditRow } from '../parts/audit-row.tsx';
import { Narrow } from '../parts/narrow.tsx';
import { Pager } from '../parts/pager.tsx';
import { Whole } from '../parts/whole.tsx';
import { VerifyCard, verifyPages } from './audit/verify.tsx';

const PAGE = 50;
/** An entry about a large plan may be megabytes. */
const BYTES_MAX = 50_000;

const query = z.strictObject({
  kind: nameField.optional(),
  target: nameField.optional(),
  actor: nameField.optional(),
  since: sinceField,
  before: positionField.optional(),
});

export function auditPages(deps: HttpDeps): Route[] {
  return [
    readPage(deps, '/audit', async (context) => ({
      title: 'Audit',
      section: '/audit',
      body: await listed(deps, context),
    })),
    ...verifyPages(deps),
    readPage(deps, '/audit/:seq', async (context) => {
      const seq = param(context, 'seq');
      return { title: `Entry ${seq} of the audit`, section: '/audit', body: await oneEntry(deps, seq) };
    }),
  ];
}

async function listed({ reader, clock }: HttpDeps, context: Ctx) {
  const asked = readSearch(context, query);
  const { kind, target, actor, since, before } = asked;
  const entries = await reader.audit({
    limit: PAGE + 1,
    ...(before !== undefined && { beforeSeq: before }),
    ...(kind !== undefined && { kind }),
    ...(target !== undefined && { target: await auditedTarget(reader, target) }),
    ...(actor !== undefined && { actor }),
    ...sinceOf(since, clock.nowMs()),
  });
  const shown = entries.slice(0, PAGE);
  const next = entries.length > PAGE ? addressOf('/audit', { ...asked, before: shown.at(-1)?.seq }) : undefined;
  return (
    <>
      <h1>Audit</h1>
      <p>
        Everything that Trustward read, decided and did, and what people did. Each entry has the hash of the one before
        it.
      </p>
      <VerifyCard />
      <section class="card" id="entries">
        <h2>Entries</h2>
        <Form class="act" method="get" action="/audit" aria-label="Entries of the audit">
          <Field name="kind" label="Kind" value={kind} hint="plan.approved" />
          <Field name="target" label="About the target" value={target} hint="a serial number or service" />
          <Field name="actor" label="Who" value={actor} hint="ana" />
          <Field name="since" label="Since" value={since} hint="7d or 2026-11-01" />
          <button type="submit">Show</button>
          <Link href="/audit">All entries</Link>
        </Form>
        <Narrow scope="entries" noun="entries of this page" />
        <Table
          caption="Entries of the audit, newest first"
          columns={AUDIT_COLUMNS}
          rows={shown.map(auditRow)}
          empty="No entry is like this."
        />
        <Pager next={next} />
      </section>
    </>
  );
}

function Field({ name, label, value, hint }: { name: string; label: string; value: string | undefined; hint: string }) {
  return (
    <label class="field">
      <span>{label}</span>
      <input type="text" name={name} value={value} placeholder={hint} maxlength={1000} size={18} />
    </label>
  );
}

async function oneEntry({ reader }: HttpDeps, given: string) {
  const seq = /^\d{1,15}$/.test(given) ? Number(given) : 0;
  const [entry] = seq === 0 ? [] : await reader.audit({ afterSeq: seq - 1, beforeSeq: seq + 1, limit: 1 });
  if (!entry) throw new AppError('not_found', `there is no entry \`${given}\` in the audit: it may have been archived`);
  const { at, kind, body, prev, hash } = auditView(entry);
  const target = ownText(body, 'target');
  const head = await reader.auditHead();
  return (
    <>
      <h1>Entry {seq} of the audit</h1>
      <section class="card">
        <dl class="facts">
          <dt>when</dt>
          <dd>
            <When at={at} />
          </dd>
          <dt>kind</dt>
          <dd>
            <Code>{kind}</Code>
          </dd>
          {target === undefined ? null : (
            <>
              <dt>target</dt>
              <dd>
                <AuditLink target={target}>
                  Entries about <Words>{target}</Words>
                </AuditLink>
              </dd>
            </>
          )}
          <dt>hash</dt>
          <dd>
            <Code>{hash}</Code>
          </dd>
          <dt>hash before it</dt>
          <dd>
            <Code>{prev}</Code>
          </dd>
        </dl>
        <nav aria-label="Neighbours">
          {seq > 1 ? <Link href={`/audit/${seq - 1}`}>Entry {seq - 1}</Link> : null}{' '}
          {seq < head.seq ? <Link href={`/audit/${seq + 1}`}>Entry {seq + 1}</Link> : null}
        </nav>
      </section>
      <section class="card">
        <h2>Content</h2>
        <Whole max={BYTES_MAX}>{JSON.stringify(body, null, 2)}</Whole>
        <h2>What was hashed</h2>
        <p>
          The hash is SHA-256 over the hash before it, the number, and these bytes. Hidden characters are spelled out
          here.
        </p>
        <Whole max={BYTES_MAX}>{entry.bytes}</Whole>
      </section>
    </>
  );
}
