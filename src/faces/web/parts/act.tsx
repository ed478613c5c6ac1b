// web: a form with one button, with which a person changes something. In: where it goes, and what is asked. Out: a form that works without
// JavaScript; with it, a button that cannot be taken back asks first.
import type { Child } from 'hono/jsx';
import { spellHidden } from '../../../base/text.ts';
import type { AuditEntryShown, ReleasedShown } from '../../../contract/nouns.ts';
import { type Entry, saidFields } from '../../../contract/operation.ts';
import type { Intent, IntentBasis } from '../../../domain/intent.ts';
import { subjectPath } from '../../report/document.ts';
import { showHidden } from '../../report/fact-text.ts';
import { Who } from '../../report/html/document.tsx';
import { Form, Link, useAddress } from '../../report/html/link.tsx';
import { Code, Mark, type Row, Table, Term, Words } from '../../report/html/text.tsx';
import { addressOf } from '../address.ts';
import { Ago } from './figures.tsx';

interface ActProps {
  to: string;
  label: string;
  /** The operation that it asks for: a person says with it what its entry takes. */
  of?: Entry;
  /** Whether a reason is asked for. */
  reason?: 'required' | 'optional';
  tone?: 'main' | 'danger';
  /** Asked before it is sent. */
  confirm?: string;
  /** Sent as they are. */
  fields?: Readonly<Record<string, string>>;
  /** Further fields. */
  children?: Child;
  /** The beginning of a reason. */
  suggestion?: string;
  /** In a row of a table: its fields are shown when they are asked for. */
  isFolded?: true;
}

export function Act({ isFolded, ...act }: ActProps) {
  if (!isFolded) return <ActForm {...act} />;
  return (
    <details>
      <summary class="button">{act.label}…</summary>
      <ActForm {...act} />
    </details>
  );
}

function ActForm({ to, label, of, reason, tone, confirm, fields = {}, children, suggestion }: ActProps) {
  return (
    <Form class="act" method="post" action={to}>
      {Object.entries(fields).map(([name, value]) => (
        <input type="hidden" name={name} value={value} />
      ))}
      {children}
      {reason === undefined ? null : (
        <Said of={of} label={label} reason={reason} suggestion={suggestion} isField="short" />
      )}
      <button type="submit" class={tone} data-confirm={confirm && showHidden(confirm)}>
        {label}
      </button>
    </Form>
  );
}

interface SaidProps extends Pick<ActProps, 'of' | 'label'> {
  suggestion?: string | undefined;
  reason: 'required' | 'optional';
  /** A ticket that was typed already. */
  also?: string | undefined;
  /** Characters of the reason. */
  max?: number;
  /** Its words stand above it: in a form of fields one below the other, or of short ones beside each other. */
  isField?: true | 'short';
}

/** The fields with which a person says why. */
export function Said({ of, label, reason, suggestion, also, isField, max = 1_000 }: SaidProps) {
  const isRequired = reason === 'required';
  const hint = isRequired ? 'Reason' : 'Reason (optional)';
  return (
    <>
      <SaidField name="reason" words="Reason" {...{ label, hint, isField, isRequired, suggestion, max }} />
      {of && Object.hasOwn(saidFields(of), 'reference') ? (
        <SaidField
          name="reference"
          words="Ticket or change number"
          {...{ label, isField }}
          hint="Ticket number"
          suggestion={also}
          max={200}
        />
      ) : null}
    </>
  );
}

interface SaidFieldProps extends Pick<SaidProps, 'label' | 'suggestion' | 'isField'> {
  name: string;
  words: string;
  hint: string;
  max: number;
  isRequired?: boolean;
}

function SaidField({ name, words, label, hint, max, isRequired, suggestion, isField }: SaidFieldProps) {
  return (
    <label class={isField && 'field'}>
      <span class={isField ? undefined : 'unseen'}>
        {isField === 'short' ? hint : words}
        {isField === true ? '' : <span class="unseen"> to {label.toLowerCase()}</span>}
      </span>
      <input
        type="text"
        name={name}
        placeholder={isField ? undefined : hint}
        required={isRequired}
        maxlength={max}
        size={isField !== true ? undefined : max > 200 ? 60 : 20}
        value={suggestion}
      />
    </label>
  );
}

export function Pager({ next, text = 'Older' }: { next: string | undefined; text?: string }) {
  if (next === undefined) return null;
  return (
    <nav aria-label="More">
      <Link class="button" href={next} rel="next">
        {text}
      </Link>
    </nav>
  );
}

export function Narrow({ scope, noun = 'rows' }: { scope: string; noun?: string }) {
  const [input, count] = [`${scope}-narrow`, `${scope}-count`];
  return (
    <div class="tools" hidden>
      <label for={input}>Show only {noun} with</label>
      <input id={input} type="search" data-filter={scope} aria-describedby={count} />
      <span id={count} class="quiet" aria-live="polite"></span>
    </div>
  );
}

interface LiveProps {
  id: string;
  /**
   * Families such as `run plan`; the page's content names them as `live`, too. Undefined: nothing happens to it any more. INVARIANT: a page
   * that was live has the part also when it is read again: what is not found is replaced by nothing.
   */
  on: string | undefined;
  path: string;
  children: Child;
}

/** How many are in the inbox, in the head of each page. */
export const BADGE = 'inbox-badge';

export function Live({ id, on, path, children }: LiveProps) {
  const at = useAddress();
  if (on === undefined) return <section id={id}>{children}</section>;
  const trigger = on
    .split(' ')
    .map((family) => `live-${family} from:body throttle:1s`)
    .join(', ');
  return (
    <section
      id={id}
      hx-get={at(path)}
      hx-select={`#${id}`}
      hx-select-oob={`#${BADGE}`}
      hx-trigger={trigger}
      hx-swap="outerHTML"
      hx-disinherit="*"
    >
      {children}
    </section>
  );
}

/** `max`: characters that are shown. */
export function Whole({ children, max }: { children: string; max: number }) {
  const shown = children.slice(0, max);
  return (
    <>
      <pre class="whole">
        {shown
          .split('\n')
          .map((line) => spellHidden(line))
          .join('\n')}
      </pre>
      {shown.length < children.length ? (
        <p class="quiet">The rest of {children.length} characters is left out.</p>
      ) : null}
    </>
  );
}

// An entry of the audit as a row: when, and what it says, with its content behind.

export const AUDIT_COLUMNS = ['Entry', 'When', 'What'];

/** More is on the entry's own page. */
const BODY_MAX = 1_500;

export function auditRow({ seq, at, kind, text, body }: AuditEntryShown, nowMs: number): Row {
  return {
    id: `entry-${seq}`,
    cells: [
      <Link href={`/audit/${seq}`} aria-label={`entry ${seq} of the audit`}>
        {seq}
      </Link>,
      <Ago at={at} nowMs={nowMs} />,
      <>
        <Words>{text}</Words>
        <details class="quiet">
          <summary>Details</summary>
          <Term>{kind}</Term>
          <Whole max={BODY_MAX}>{JSON.stringify(body, null, 2)}</Whole>
        </details>
      </>,
    ],
  };
}

// What a release has done, target by target, where no one action shows it.

const TONES = { released: 'good', dry_run: 'calm', standing: 'wait' } as const;
const WORDS = { released: 'released', dry_run: 'dry run', standing: 'still in force' } as const;

export function ReleasedTable({ released }: { released: readonly ReleasedShown[] }) {
  return (
    <Table
      caption="What was released"
      columns={['Undone', 'Target', 'Result', 'How']}
      rows={released.map(({ action, target, state, text, intent }) => ({
        cells: [
          intent ? (
            <Link href={`/intents/${encodeURIComponent(intent.id)}`}>
              <Term>{intent.action}</Term>
            </Link>
          ) : (
            <Term>{action}</Term>
          ),
          <Code>{target}</Code>,
          <Mark word={WORDS[state]} tone={TONES[state]} />,
          <Words>{text}</Words>,
        ],
      }))}
      empty="Nothing was in force that it protects."
    />
  );
}

/** What the page of the audit takes. */
const TARGET_MAX = 1_000;

export function AuditLink({ target, children }: { target: string; children: Child }) {
  if (target.length > TARGET_MAX) return <span>{children}</span>;
  return <Link href={addressOf('/audit', { target })}>{children}</Link>;
}

export function OutcomeMark({ intent: { outcome, status } }: { intent: Pick<Intent, 'outcome' | 'status'> }) {
  const word = outcome ?? status;
  return <Mark word={word} text={word === 'unknown' ? 'in doubt' : word} />;
}

// What an action is about: the target, and the devices that it touches as its effect names them.

const DEVICES_MAX = 3;

interface About extends Pick<Intent, 'target' | 'effect'> {
  basis: readonly Pick<IntentBasis, 'subjectId'>[];
}

export function Target(about: About) {
  return (
    <>
      <Code>{about.target}</Code>
      <Devices {...about} />
    </>
  );
}

/** Beside a target that is named already. */
export function Devices({ target, effect: { devices }, basis }: About) {
  const shown = devices.slice(0, DEVICES_MAX);
  const known = new Set(devices.map(({ id }) => id));
  const others = [...new Set(basis.map(({ subjectId }) => subjectId))].filter((id) => !known.has(id) && id !== target);
  return (
    <>
      {shown.map((device) => (
        <div>
          <Who who={device} href={subjectPath('device', device.id)} shown={target} />
        </div>
      ))}
      {devices.length > shown.length ? <div>and {devices.length - shown.length} more</div> : null}
      {others.slice(0, DEVICES_MAX).map((id) => (
        <div class="quiet">
          by <Code>{id}</Code>
        </div>
      ))}
    </>
  );
}

// A list of one status alone.

interface StatusFilterProps {
  path: string;
  statuses: readonly string[];
  /** Undefined: all. */
  chosen: string | undefined;
}

export function StatusFilter({ path, statuses, chosen }: StatusFilterProps) {
  return (
    <Form class="act" method="get" action={path}>
      <label>
        Status
        <select name="status">
          <option value="">all</option>
          {statuses.map((status) => (
            <option value={status} selected={status === chosen}>
              {status}
            </option>
          ))}
        </select>
      </label>
      <button type="submit">Show</button>
    </Form>
  );
}
