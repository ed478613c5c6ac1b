// act: delete a service. It cannot be undone, so it is always held for approval. The service must be disabled first, as people do:
// disabling can be undone, and shows who still uses the service. The target is a ServiceID.
import type { Action, ReadBack } from '../../domain/action.ts';
import { type Facts, own } from '../../domain/facts.ts';
import type { TargetReads } from '../../domain/ports.ts';
import { flagText } from '../../domain/target.ts';
import { refuseAnySettings } from './settings.ts';
import { SERVICE } from './targets.ts';

export const deleteService: Action = {
  name: 'delete_service',
  subjects: ['service'],
  target: SERVICE,
  inverse: undefined,
  fieldWritten: undefined,
  valueWritten: undefined,
  changesFleet: true,
  removesTarget: true,
  refuseSettings: refuseAnySettings('delete_service'),
  effect: (target) => `delete service ${target} for good; it is refused while the service is enabled`,
  readBack,
  refuse: (fresh) =>
    fresh.records.every((record) => flagText(record, 'Enabled') === 'FALSE')
      ? undefined
      : 'the service is not disabled: disable it first, and delete it when nobody misses it',
  perform: (api, target) => api.deleteService(target),
};

async function readBack(api: TargetReads, serviceId: string): Promise<ReadBack> {
  const record = await api.service(serviceId);
  if (!record) return { state: 'as_intended', records: [], evidence: { ServiceID: serviceId, found: false } };
  const evidence = {
    ServiceID: serviceId,
    Enabled: own(record, 'Enabled') ?? null,
    DeletedAt: own(record, 'DeletedAt') ?? null,
  };
  return { state: isDeleted(record) ? 'as_intended' : 'otherwise', records: [record], evidence };
}

/** Whether a server keeps the record of a deleted service is not specified. `DeletedAt` is 0 for an existing service. */
function isDeleted(record: Facts): boolean {
  const at = own(record, 'DeletedAt');
  return (typeof at === 'number' || typeof at === 'bigint') && at > 0;
}
