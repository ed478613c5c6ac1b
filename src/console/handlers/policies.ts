// console handlers: policies, what they are attached to, the shield configuration, and API keys. In: checked queries and bodies. Out: records.
// An unknown id is a 400, as everywhere else.
import { flagOf } from '../../platform/contract.ts';
import { type Answer, jsonAnswer, textAnswer } from '../answer.ts';
import { envelope } from '../refusal.ts';
import * as keys from '../store/api-keys.ts';
import * as policies from '../store/policies.ts';
import type { Call } from './call.ts';

export function listPolicies({ store, query }: Call<'list_policies'>): Answer {
  return textAnswer(`[${policies.listPolicies(store, query.PolicyID).join(',')}]`);
}

export function insertPolicy({ store, actor, body, bodyText }: Call<'insert_policy'>): Answer {
  return textAnswer(policies.insertPolicy(store, actor, body, bodyText.trim()));
}

export function deletePolicy({ store, actor, query }: Call<'delete_policy'>): Answer {
  policies.deletePolicy(store, actor, query.PolicyID);
  return jsonAnswer({ Message: `the policy \`${query.PolicyID}\` was deleted` });
}

export function attachPolicy({ store, actor, query }: Call<'attach_policy'>): Answer {
  const ids = { policy: query.PolicyID, service: query.ServiceID };
  return textAnswer(policies.attachPolicy(store, actor, ids, flagOf(query.Enabled ?? true)));
}

export function detachPolicy({ store, actor, query }: Call<'detach_policy'>): Answer {
  policies.detachPolicy(store, actor, { policy: query.PolicyID, service: query.ServiceID });
  return jsonAnswer({ Message: `the policy \`${query.PolicyID}\` was detached from \`${query.ServiceID}\`` });
}

export function listServicePolicies({ store, params }: Call<'list_service_policies'>): Answer {
  return textAnswer(`[${policies.policiesOfService(store, params.service_id ?? '').join(',')}]`);
}

export function shieldConfig({ store, requestId }: Call<'shield_config'>): Answer {
  const Configs = policies.listShields(store).map((ShieldName) => ({ ShieldName }));
  return enveloped(requestId, { Configs });
}

export function listApiKeys({ store, requestId }: Call<'list_api_keys'>): Answer {
  return enveloped(requestId, keys.listApiKeys(store));
}

export function createApiKey({ store, actor, body, requestId }: Call<'create_api_key'>): Answer {
  return enveloped(requestId, keys.createApiKey(store, actor, body));
}

export function updateApiKey({ store, actor, body, params, requestId }: Call<'update_api_key'>): Answer {
  return enveloped(requestId, keys.updateApiKey(store, actor, params.api_key_id ?? '', body));
}

export function deleteApiKey({ store, actor, params, requestId }: Call<'delete_api_key'>): Answer {
  keys.deleteApiKey(store, actor, params.api_key_id ?? '');
  return enveloped(requestId, {});
}

function enveloped(requestId: string, data: unknown): Answer {
  return textAnswer(envelope(requestId, JSON.stringify(data)));
}
