// web: verifying the audit. In: a button. Out: a page with the verdict, or how far it is: a million entries take seconds, and no answer
// waits for them. One verification at a time; its verdict is kept until the next one.

import { z } from 'zod';
import type { AuditCheck } from '../../../domain/audit-check.ts';
import { AppError, lineOf } from '../../../domain/errors.ts';
import type { HttpDeps } from '../../../http/deps.ts';
import { readForm } from '../../../http/form.ts';
import type { Route } from '../../../http/route.ts';
import { auditCheckText } from '../../../report/audit-check-text.ts';
import { countText } from '../../../report/fact-text.ts';
import { Link, useAddress } from '../../../report/html/link.tsx';
import { When, Words } from '../../../report/html/text.tsx';
import { formPage, readPage } from '../../answer.tsx';
import { Act } from '../../parts/act.tsx';
import { within } from '../../within.ts';

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

export function verifyPages(deps: HttpDeps): Route[] {
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
          {(ended.check ? auditCheckText(ended.check) : (ended.fault ?? '')).split('\n').map((line) => (
            <p>
              <Words>{line}</Words>
            </p>
          ))}
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

export function VerifyCard() {
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
