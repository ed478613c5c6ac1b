// web: the form that adds an exemption: of one subject by any of its names, or of all with a value in a field. In: who is signed in. Out: a form.

import { FORGEABLE_FIELDS, SELECTOR_FIELDS } from '../../../domain/exemption.ts';
import { SUBJECT_KINDS } from '../../../domain/subjects.ts';
import { Form } from '../../../report/html/link.tsx';

const SPANS = [
  ['1d', 'a day'],
  ['7d', 'a week'],
  ['30d', '30 days'],
  ['90d', '90 days'],
] as const;

export function AddForm({ owner }: { owner: string }) {
  return (
    <section class="card">
      <h2>Add an exemption</h2>
      <Form method="post" action="/exemptions">
        <label class="field">
          <span>Who or what: a serial number, an e-mail address, an id, or the name of a service</span>
          <input type="text" name="subject" maxlength={1000} size={40} />
        </label>
        <details>
          <summary>All with the same value, or what no reading has shown yet</summary>
          <div class="act">
            <label class="field">
              <span>or all with</span>
              <select name="field">
                <option value=""></option>
                {Object.entries(SELECTOR_FIELDS).map(([field, kind]) => (
                  <option value={field}>
                    {field} (of a {kind})
                  </option>
                ))}
              </select>
            </label>
            <label class="field">
              <span>equal to</span>
              <input type="text" name="value" maxlength={1000} size={30} />
            </label>
            <label>
              <input type="checkbox" name="forgeable" value="yes" />
              Also by {FORGEABLE_FIELDS.join(', ')}, which devices report themselves
            </label>
          </div>
          <div class="act">
            <label class="field">
              <span>Kind of who is named above</span>
              <select name="kind">
                <option value="">any</option>
                {SUBJECT_KINDS.map((kind) => (
                  <option value={kind}>{kind}</option>
                ))}
              </select>
            </label>
            <label>
              <input type="checkbox" name="unseen" value="yes" />
              It is meant, though no reading has shown it yet
            </label>
          </div>
        </details>
        <label class="field">
          <span>Who is responsible for it</span>
          <input type="text" name="owner" value={owner} required maxlength={1000} size={40} />
        </label>
        <label class="field">
          <span>Reason</span>
          <input type="text" name="reason" required maxlength={1000} size={60} />
        </label>
        <div class="act">
          <label class="field">
            <span>For</span>
            <select name="until">
              {SPANS.map(([span, words]) => (
                <option value={span}>{words}</option>
              ))}
            </select>
          </label>
          <label class="field">
            <span>or, instead, until the beginning of this day (UTC)</span>
            <input type="date" name="date" />
          </label>
        </div>
        <p>
          <label>
            <input type="checkbox" name="release" value="yes" />
            Also undo now what is in force on it
          </label>
        </p>
        <button type="submit" class="main">
          Exempt
        </button>
      </Form>
    </section>
  );
}
