// web: what an action is about: the target, and the devices that it touches as its effect names them. In: an intent or what is like it.
// Out: elements that lead to the subject's page.
import type { Intent, IntentBasis } from '../../domain/intent.ts';
import { Code } from '../../report/html/text.tsx';
import { subjectPath, Who } from '../../report/html/who.tsx';

const DEVICES_MAX = 3;

interface About extends Pick<Intent, 'target' | 'effect'> {
  basis: readonly Pick<IntentBasis, 'subjectId'>[];
}

export function Target({ target, effect: { devices }, basis }: About) {
  const shown = devices.slice(0, DEVICES_MAX);
  const known = new Set(devices.map(({ id }) => id));
  const others = [...new Set(basis.map(({ subjectId }) => subjectId))].filter((id) => !known.has(id) && id !== target);
  return (
    <>
      <Code>{target}</Code>
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
