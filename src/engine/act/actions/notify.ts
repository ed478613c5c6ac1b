// act: notify people: in the log, the report and the audit, and with `with: { to: NAME }` through a configured webhook.
// It has no target state and makes no call: a notification for a webhook is put into the outbox, and delivered afterwards.
import type { Action, TargetTraits } from '../../../domain/action.ts';
import { type Facts, isFacts, own } from '../../../domain/facts.ts';

const NOTICE: TargetTraits = {
  of: ({ id }) => [id],
  identity: (target) => ['notice', target],
};

export const notify: Action = {
  name: 'notify',
  subjects: ['device', 'user', 'service'],
  target: NOTICE,
  inverse: undefined,
  fieldWritten: undefined,
  valueWritten: undefined,
  changesFleet: false,
  refuseSettings,
  effect: (target, _devices, settings) => `notify about ${target} in log, report and audit${webhookWords(settings)}`,
  recipients: recipientsOf,
  readBack: async () => ({ state: 'otherwise', records: [], evidence: {} }),
  perform: async (_api, _target, _fresh, settings) => ({
    kind: 'done',
    status: 0,
    text: `written to log, report and audit${webhookWords(settings)}`,
  }),
};

/** The same with known webhooks: a rule that names any other is refused when it is loaded. */
export function notifyThrough(names: readonly string[]): Action {
  return {
    ...notify,
    refuseSettings: (settings) => {
      const unknown = recipientsOf(settings).find((name) => !names.includes(name));
      const known =
        names.length === 0 ? 'set TRUSTWARD_WEBHOOKS to a file that has it' : `there are ${names.join(', ')}`;
      return refuseSettings(settings) ?? (unknown && `no webhook \`${unknown}\` is configured: ${known}`);
    },
  };
}

/** The webhooks that a rule's `with: { to: … }` names: one name, or several. */
function recipientsOf(settings: Facts): string[] {
  const to = own(settings, 'to');
  return (Array.isArray(to) ? to : [to]).filter((name): name is string => typeof name === 'string');
}

function refuseSettings(settings: Facts): string | undefined {
  const other = Object.keys(settings).find((key) => key !== 'to');
  if (other !== undefined) return `notify takes only \`to\`, the name of a webhook, but \`${other}\` is given`;
  if (!Object.hasOwn(settings, 'to')) return undefined;
  const names = recipientsOf(settings);
  const given = isFacts(settings) && Array.isArray(settings.to) ? settings.to.length : 1;
  if (names.length === 0 || names.length < given) return '`to` is the name of a webhook, or a list of such names';
  return new Set(names).size < names.length ? '`to` names a webhook twice' : undefined;
}

/** An undo never notifies, and old intents have no settings. */
function webhookWords(settings: Facts): string {
  const names = recipientsOf(settings);
  return names.length === 0 ? '' : `, and to webhook ${names.join(', ')}`;
}
