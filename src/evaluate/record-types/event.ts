// evaluate: the schema of one event, which `where` and `of` read (management-api.md, "Event"; field-notes.md, "Events carry
// more than the example"). Any of it can be absent.
import { EVENT_ACTION_NAMES, EVENT_SEVERITIES, EVENT_SUB_TYPES, EVENT_TYPES } from '../../domain/platform-values.ts';
import type { ValueType } from './field-types.ts';
import { ANY, BOOLEAN, listOf, recordOf, SCORE, TEXT, textOf } from './field-types.ts';

const TEXTS = listOf(TEXT);
const ENDPOINT = recordOf({
  service_id: TEXT,
  service_name: TEXT,
  service_version: TEXT,
  container_id: TEXT,
  container_name: TEXT,
  host_name: TEXT,
  ip: TEXT,
  port: TEXT,
});

const PRINCIPAL = recordOf({
  device: recordOf({
    id: TEXT,
    friendly_name: TEXT,
    mac_address: TEXT,
    serial_number: TEXT,
    registration_status: TEXT,
    compromised_status: TEXT,
    compliance_status: TEXT,
    oem_info: TEXT,
    model: TEXT,
    platform: TEXT,
    ownership: TEXT,
    architecture: TEXT,
    udid: TEXT,
    source: TEXT,
    unregistered: BOOLEAN,
    last_mdm_data_synced_at: { kind: 'time', unit: 'any' },
  }),
  user: recordOf({ email: TEXT, groups: TEXTS, roles: TEXTS }),
  client: recordOf({ user_agent: TEXT, ip_address: TEXT }),
});

export const EVENT: ValueType & { kind: 'record' } = recordOf({
  id: TEXT,
  external_id: TEXT,
  org_id: TEXT,
  org_name: TEXT,
  group_id: TEXT,
  severity: textOf(...EVENT_SEVERITIES),
  action: textOf(...EVENT_ACTION_NAMES),
  type: textOf(...EVENT_TYPES),
  sub_type: textOf(...EVENT_SUB_TYPES),
  message: TEXT,
  messages: TEXT,
  result: TEXT,
  channel: ANY,
  policy: ANY,
  /** Records with a name; names from some servers. */
  role: listOf(ANY),
  created_at: { kind: 'time', unit: 'ms' },
  user_principal: PRINCIPAL,
  workload_principal: recordOf({ workload_set: recordOf({ container_id: TEXT, app_name: TEXT }) }),
  service: recordOf({ id: TEXT, name: TEXT, type: TEXT, version: TEXT }),
  trustscore: recordOf({ id: TEXT, type: TEXT, timestamp: { kind: 'time', unit: 'ns' }, score: SCORE }),
  link: recordOf({ source: ENDPOINT, destination: ENDPOINT }),
});
