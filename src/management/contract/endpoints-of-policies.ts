// management contract: the endpoints of policies, of what they are attached to, of the shield configuration and of API keys. The specification
// has none of them; tools that keep an organization as code call them. In: nothing. Out: rows of the endpoint table.
import { z } from 'zod';
import { EmptyEnvelope, MessageAnswer } from './answers.ts';
import { at, type Endpoint, READ, STATUSES, WRITE } from './endpoint.ts';
import * as policy from './policy.ts';
import * as query from './query.ts';

const MORE = { number: undefined, query: query.NoQuery, statuses: STATUSES.events } as const;
const v2 = (name: string) => ({ path: `/api/v2/${name}`, aliases: [], errors: 'envelope' as const });

export const POLICY_ENDPOINTS = {
  list_policies: {
    ...READ,
    ...MORE,
    ...at('security_policies'),
    method: 'GET',
    summary: 'List policies',
    query: query.PolicyQuery,
    answer: z.array(policy.SecurityPolicy),
  },
  insert_policy: {
    ...WRITE,
    ...MORE,
    ...at('insert_security_policy'),
    method: 'POST',
    summary: 'Create or update a policy',
    body: policy.PolicySpec,
    answer: policy.SecurityPolicy,
  },
  delete_policy: {
    ...WRITE,
    ...MORE,
    ...at('delete_security_policy'),
    method: 'DELETE',
    summary: 'Delete a policy that is attached to nothing',
    query: query.PolicyIdQuery,
    answer: MessageAnswer,
  },
  attach_policy: {
    ...WRITE,
    ...MORE,
    ...at('insert_security_attach_policy'),
    method: 'POST',
    summary: 'Attach a policy to a service; parameters come in the query or as a form',
    query: query.AttachPolicyQuery,
    takesForm: true,
    answer: policy.PolicyAttached,
  },
  detach_policy: {
    ...WRITE,
    ...MORE,
    ...at('delete_security_attach_policy'),
    method: 'DELETE',
    summary: 'Detach a policy from a service',
    query: query.DetachPolicyQuery,
    answer: MessageAnswer,
  },
  list_service_policies: {
    ...READ,
    ...MORE,
    ...at('policy/attachment/service/{service_id}'),
    method: 'GET',
    summary: 'The policies of a service; none for an unknown one',
    answer: z.array(policy.PolicyAttachment),
  },
  shield_config: {
    ...READ,
    ...MORE,
    ...v2('shield_config'),
    method: 'GET',
    summary: 'The shields of the organization',
    answer: policy.ShieldConfigAnswer,
  },
  list_api_keys: {
    ...READ,
    ...MORE,
    ...v2('api_key'),
    method: 'GET',
    summary: 'List API keys, without their secrets',
    answer: policy.ApiKeyList,
  },
  create_api_key: {
    ...WRITE,
    ...MORE,
    ...v2('api_key'),
    method: 'POST',
    summary: 'Make an API key; its secret is shown in this answer alone',
    body: policy.ApiKeyInput,
    answer: policy.NewApiKeyAnswer,
  },
  update_api_key: {
    ...WRITE,
    ...MORE,
    ...v2('api_key/{api_key_id}'),
    method: 'PUT',
    summary: 'Change an API key',
    body: policy.ApiKeyPatch,
    answer: policy.ApiKeyAnswer,
  },
  delete_api_key: {
    ...WRITE,
    ...MORE,
    ...v2('api_key/{api_key_id}'),
    method: 'DELETE',
    summary: 'Revoke an API key',
    answer: EmptyEnvelope,
  },
} as const satisfies Record<string, Endpoint>;
