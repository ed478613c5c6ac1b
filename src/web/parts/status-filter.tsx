// web: a list of one status alone. In: where the list is, all statuses, and the chosen one. Out: a form that works without JavaScript.
import { Form } from '../../report/html/link.tsx';

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
