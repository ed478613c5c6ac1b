// web: resolving a doubt or a failure: what each answer means, and the form. In: an intent. Out: three buttons with one reason.

import type { Intent } from '../../../domain/intent.ts';
import { Form } from '../../../report/html/link.tsx';

const MEANINGS = [
  {
    as: 'done',
    label: 'It was done',
    text: 'It counts as confirmed, with its claims: it is undone when its rule no longer matches.',
  },
  {
    as: 'not-done',
    label: 'Give it up',
    text: 'It was not done and should not be: it failed, and is left alone while the match lasts.',
  },
  {
    as: 'retry',
    label: 'Try once more',
    text: 'The next run reads the target; if it is not done, it is sent once more, after all checks.',
  },
] as const;

export function ResolveForm({ intent: { id } }: { intent: Pick<Intent, 'id'> }) {
  return (
    <Form class="act" method="post" action={`/intents/${encodeURIComponent(id)}/resolve`}>
      <label>
        <span class="unseen">Reason to resolve intent {id}</span>
        <input type="text" name="reason" placeholder="Reason" required maxlength={1000} />
      </label>
      {MEANINGS.map(({ as, label }) => (
        <button type="submit" name="as" value={as}>
          {label}
        </button>
      ))}
    </Form>
  );
}

export function Meanings() {
  return (
    <details>
      <summary>What the answers mean</summary>
      <dl class="facts">
        {MEANINGS.map(({ label, text }) => (
          <>
            <dt>{label}</dt>
            <dd>{text}</dd>
          </>
        ))}
      </dl>
      <p>While an action is in doubt, nothing else is sent to its target.</p>
    </details>
  );
}
