// act: disable a service: nobody reaches it until it is enabled again.
import type { Action, ReadBack } from '../../../domain/action.ts';
import { own } from '../../../domain/facts.ts';
import type { TargetReads } from '../../../domain/ports.ts';
import { flagText } from '../../../domain/subjects.ts';
import { refuseAnySettings, SERVICE } from './targets.ts';

// The common part of enabling and disabling a service.

type Enabled = 'TRUE' | 'FALSE';

function serviceSwitch(name: 'enable_service' | 'disable_service', enabled: Enabled): Action {
  const verb = enabled === 'TRUE' ? 'enable' : 'disable';
  return {
    name,
    subjects: ['service'],
    target: SERVICE,
    inverse: name === 'enable_service' ? 'disable_service' : 'enable_service',
    fieldWritten: 'Enabled',
    valueWritten: enabled,
    auditedAs: enabled === 'TRUE' ? 'Enable' : 'Disable',
    givesAccess: enabled === 'TRUE',
    changesFleet: true,
    refuseSettings: refuseAnySettings(name),
    effect: (target) => `${verb} service ${target} for everybody; all enforcement agents are notified`,
    readBack: (api, target) => readBack(api, target, enabled),
    perform: (api, target) => (enabled === 'TRUE' ? api.enableService(target) : api.disableService(target)),
  };
}

async function readBack(api: TargetReads, serviceId: string, enabled: Enabled): Promise<ReadBack> {
  const record = await api.service(serviceId);
  if (!record) return { state: 'absent', records: [], evidence: { ServiceID: serviceId, found: false } };
  const state = flagText(record, 'Enabled') === enabled ? 'as_intended' : 'otherwise';
  return { state, records: [record], evidence: { ServiceID: serviceId, Enabled: own(record, 'Enabled') ?? null } };
}

export const disableService: Action = { ...serviceSwitch('disable_service', 'FALSE'), stateText: 'disabled' };

export const enableService = serviceSwitch('enable_service', 'TRUE');
