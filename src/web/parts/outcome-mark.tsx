// web: how an intent came out, or how far it is. In: an intent. Out: a mark.
import type { Intent } from '../../domain/intent.ts';
import { Mark } from '../../report/html/marks.tsx';

export function OutcomeMark({ intent: { outcome, status } }: { intent: Pick<Intent, 'outcome' | 'status'> }) {
  const word = outcome ?? status;
  return <Mark word={word} text={word === 'unknown' ? 'in doubt' : word} />;
}
