// bench: an action without effect, for rules that are only judged.
import type { ActionTraits } from '../src/domain/action.ts';

export const NOTIFY: ActionTraits = {
  name: 'notify',
  subjects: ['device', 'user', 'service'],
  target: { of: ({ id }) => [id], identity: (target) => ['notice', target] },
  inverse: undefined,
  fieldWritten: undefined,
  valueWritten: undefined,
  changesFleet: false,
  refuseSettings: () => undefined,
  effect: () => '',
};
