// web: the audit: its entries, newest first, by kind, target, person and time; one entry with what was hashed; and verifying it.
// In: filters. Out: pages. It only reads.
import { z } from 'zod';
import type { AuditEntryShown } from '../../../contract/nouns.ts';
import { nameField, positionField, sinceField, sinceOf } from '../../../contract/operation.ts';
import { AUDIT_KINDS, type AuditCheck } from '../../../domain/audit-entry.ts';
import { auditedTarget } from '../../../domain/decision-filter.ts';
import { AppError, lineOf } from '../../../domain/errors.ts';
import { ownText } from '../../../domain/facts.ts';
import type { HttpDeps } from '../../http/deps.ts';
import { type Ctx, param, type Route, readForm, readSearch } from '../../http/route.ts';
import { countText } from '../../report/fact-text.ts';
import { Form, Link, useAddress } from '../../report/html/link.tsx';
import { Code, Lines, Table, When, Words } from '../../report/html/text.tsx';
import { auditCheckText, auditViews } from '../../report/lists-text.ts';
import { addressOf, within } from '../address.ts';
import { formPage, readPage } from '../answer.tsx';
import { Act, AUDIT_COLUMNS, AuditLink, auditRow, Narrow, Pager, Whole } from '../parts/act.tsx';
import { Ago } from '../parts/figures.tsx';

// Verifying the audit.

const PATH = '/audit/verify';
/** What is done by then is shown at once. */
const WAIT_MS = 1_000;

interface Verification {
  startedAt: number;
  /** The number of the last entry that was read. */
  seen: number;
  last: number;
  ended: { at: number; check?: AuditCheck; fault?: string } | undefined;
  end: Promise<void>;
}

function verifyPages(deps: HttpDeps): Route[] {
  let current: Verification | undefined;
  return [
    formPage(deps, PATH, 'read', async (context) => {
      await readForm(context, z.strictObject({}));
      if (!current || current.ended) current = begin(deps);
      await within(deps, WAIT_MS, current.end);
      return PATH;
    }),
    readPage(deps, PATH, () => ({
      title: 'Verify the audit',
      section: '/audit',
      body: (
        <>
          <h1>Verify the audit</h1>
          {current && !current.ended ? (
            <UnderWay verification={current} />
          ) : (
            <Verdict verification={current} isDaemon={deps.isDaemon} />
          )}
        </>
      ),
    })),
  ];
}

/** INVARIANT: it returns at once, so that of two who ask at the same time the second finds the verification of the first. */
function begin(deps: HttpDeps): Verification {
  const startedAt = deps.clock.nowMs();
  const verification: Verification = { startedAt, seen: 0, last: 0, ended: undefined, end: Promise.resolve() };
  verification.end = verify(deps, verification);
  return verification;
}

/** Errors: none; they are its verdict. */
async function verify({ reader, verifyAudit, clock, log }: HttpDeps, verification: Verification): Promise<void> {
  const seen = (seq: number) => {
    verification.seen = seq;
  };
  try {
    verification.last = (await reader.auditHead()).seq;
    const check = await verifyAudit(seen);
    verification.ended = { at: clock.nowMs(), check };
  } catch (error) {
    log.warn({}, `the audit could not be verified: ${lineOf(error)}`);
    verification.ended = { at: clock.nowMs(), fault: error instanceof AppError ? error.message : 'see the log' };
  }
}

/** Reads itself again until the verdict is there. */
function UnderWay({ verification: { seen, last, startedAt } }: { verification: Verification }) {
  const at = useAddress();
  return (
    <section
      id="verification"
      class="notice wait"
      aria-live="polite"
      hx-get={at(PATH)}
      hx-select="#verification"
      hx-trigger="every 2s"
      hx-swap="outerHTML"
    >
      <p>
        Under way since <When at={startedAt} />: {countText(seen)} of {countText(Math.max(seen, last))} entries are
        read.
      </p>
      <p>
        <meter
          min="0"
          max={String(Math.max(seen, last, 1))}
          value={String(seen)}
          aria-label="entries that are read"
        ></meter>
      </p>
      <Link class="button" href={PATH}>
        See how far it is
      </Link>
    </section>
  );
}

function Verdict({ verification, isDaemon }: { verification: Verification | undefined; isDaemon: boolean }) {
  const { ended, startedAt } = verification ?? {};
  return (
    <section id="verification">
      {ended === undefined ? (
        <p class="empty">It was not verified here since {isDaemon ? 'the daemon' : 'this endpoint'} started.</p>
      ) : (
        <div class={`notice ${ended.check?.ok ? 'good' : 'bad'}`}>
          <p>
            <b>{ended.check === undefined ? 'It could not be verified.' : ended.check.ok ? 'Whole.' : 'Not whole.'}</b>
          </p>
          <Lines texts={(ended.check ? auditCheckText(ended.check) : (ended.fault ?? '')).split('\n')} as="p" />
          {ended.check?.bad ? (
            <p>
              <Link href={`/audit/${ended.check.bad.seq}`}>Entry {ended.check.bad.seq} of the audit</Link>
            </p>
          ) : null}
          <p class="quiet">
            Began <When at={startedAt ?? ended.at} />, ended <When at={ended.at} />.
          </p>
        </div>
      )}
      <Act to={PATH} label="Verify again" />
      <p>
        <Link href="/audit">All entries of the audit</Link>
      </p>
    </section>
  );
}

function VerifyCard() {
  return (
    <section class="card">
      <h2>Verify</h2>
      <p>
        Reads every entry, computes each hash again, and compares the signed checkpoints and the tables that acting
        rests on.
      </p>
      <Act to={PATH} label="Verify the audit" tone="main" />
      <Link href={PATH}>The last verdict</Link>
    </section>
  );
}

const PAGE = 50;
/** An entry about a large plan may be megabytes. */
const BYTES_MAX = 50_000;

const query = z.strictObject({
  kind: z.enum(AUDIT_KINDS).optional(),
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
  const nowMs = clock.nowMs();
  const entries = await reader.audit({
    limit: PAGE + 1,
    ...(before !== undefined && { beforeSeq: before }),
    ...(kind !== undefined && { kind }),
    ...(target !== undefined && { target: await auditedTarget(reader, target) }),
    ...(actor !== undefined && { actor }),
    ...sinceOf(since, nowMs),
  });
  const shown = entries.slice(0, PAGE);
  const views = await auditViews(reader, shown);
  const next = entries.length > PAGE ? addressOf('/audit', { ...asked, before: shown.at(-1)?.seq }) : undefined;
  return (
    <>
      <h1>Audit</h1>
      <p>
        Everything that Trustward read, decided and did, and what people did. Each entry has the hash of the one before
        it.
      </p>
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
          rows={views.map((entry) => auditRow(entry, nowMs))}
          empty="No entry is like this."
        />
        <Pager next={next} />
      </section>
      <VerifyCard />
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

async function oneEntry({ reader, clock }: HttpDeps, given: string) {
  const seq = /^\d{1,15}$/.test(given) ? Number(given) : 0;
  const [entry] = seq === 0 ? [] : await reader.audit({ afterSeq: seq - 1, beforeSeq: seq + 1, limit: 1 });
  if (!entry) throw new AppError('not_found', `there is no entry \`${given}\` in the audit: it may have been archived`);
  const [{ at, kind, text, body, prev, hash }] = (await auditViews(reader, [entry])) as [AuditEntryShown];
  const target = ownText(body, 'target');
  const head = await reader.auditHead();
  return (
    <>
      <h1>Entry {seq} of the audit</h1>
      <section class="card">
        <p class="lead">
          <Words>{`${text}.`}</Words>
        </p>
        <dl class="facts">
          <dt>when</dt>
          <dd>
            <Ago at={at} nowMs={clock.nowMs()} />, <When at={at} />
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
        <details>
          <summary>What was hashed</summary>
          <p>
            The hash is SHA-256 over the hash before it, the number, and these bytes. Hidden characters are spelled out
            here.
          </p>
          <Whole max={BYTES_MAX}>{entry.bytes}</Whole>
        </details>
      </section>
    </>
  );
}
