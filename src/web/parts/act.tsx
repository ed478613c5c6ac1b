// web: a form with one button, with which a person changes something. In: where it goes, and what is asked. Out: a form that works without
// JavaScript; with it, a button that cannot be taken back asks first.

import type { Child } from 'hono/jsx';
import { showHidden } from '../../report/hostile-text.ts';
import { Form } from '../../report/html/link.tsx';

export interface ActProps {
  to: string;
  label: string;
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
}

export function Act({ to, label, reason, tone, confirm, fields = {}, children, suggestion }: ActProps) {
  return (
    <Form class="act" method="post" action={to}>
      {Object.entries(fields).map(([name, value]) => (
        <input type="hidden" name={name} value={value} />
      ))}
      {children}
      {reason === undefined ? null : (
        <label>
          <span class="unseen">Reason to {label.toLowerCase()}</span>
          <input
            type="text"
            name="reason"
            placeholder={reason === 'required' ? 'Reason' : 'Reason (optional)'}
            required={reason === 'required'}
            maxlength={1000}
            value={suggestion}
          />
        </label>
      )}
      <button type="submit" class={tone} data-confirm={confirm && showHidden(confirm)}>
        {label}
      </button>
    </Form>
  );
}
