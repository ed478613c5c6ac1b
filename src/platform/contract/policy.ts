// management contract: policies, what they are attached to, the shield configuration and API keys, which newer servers have.
// In: parsed JSON. Out: checked records and bodies with unknown fields kept. A secret is in the answer that makes a key, and nowhere else.
import { z } from 'zod';
import { envelopeOf } from './bundle.ts';
import { flag, integer, list, namedSchemas, recordHistory, text, textOrNull } from './shapes.ts';
import { KEY_SCOPES } from './values.ts';

const filledText = z.string().trim().min(1, 'must not be empty');

export const SecurityPolicy = z
  .looseObject({
    PolicyID: z.string(),
    PolicyName: text,
    /** The policy spec encoded as JSON text. */
    PolicySpec: text,
    PolicyVersion: integer,
    Description: text,
    ...recordHistory,
  })
  .register(namedSchemas, { id: 'SecurityPolicy' });
export type SecurityPolicy = z.infer<typeof SecurityPolicy>;

/** Body of create/update. Only the name is required; with `metadata.id`, that policy gets it. */
export const PolicySpec = z
  .looseObject({
    kind: text,
    apiVersion: text,
    type: text,
    metadata: z.looseObject({ id: textOrNull, name: filledText, description: textOrNull }),
  })
  .register(namedSchemas, { id: 'PolicySpec' });
export type PolicySpec = z.infer<typeof PolicySpec>;

/** A policy of a service, as the attach call answers it. */
export const PolicyAttached = z
  .looseObject({ PolicyID: z.string(), ServiceID: z.string(), Enabled: flag, AttachedBy: text, AttachedAt: integer })
  .register(namedSchemas, { id: 'PolicyAttached' });
export type PolicyAttached = z.infer<typeof PolicyAttached>;

/** The same, as the list of a service has it. */
export const PolicyAttachment = z
  .looseObject({
    PolicyID: z.string(),
    PolicyName: text,
    AttachedToID: z.string(),
    AttachedToName: text,
    AttachedToType: text,
    Enabled: flag,
    /** Nanoseconds. */
    AttachedAt: integer,
    AttachedBy: text,
  })
  .register(namedSchemas, { id: 'PolicyAttachment' });
export type PolicyAttachment = z.infer<typeof PolicyAttachment>;

export const ShieldConfigAnswer = envelopeOf(
  z.looseObject({ Configs: list(z.looseObject({ ShieldName: z.string() })) }),
).register(namedSchemas, { id: 'ShieldConfigAnswer' });
export type ShieldConfigAnswer = z.infer<typeof ShieldConfigAnswer>;

const apiKey = {
  id: z.string(),
  org_id: text,
  name: text,
  description: text,
  scope: text,
  /** Epoch ms. */
  created_at: integer,
  created_by: text,
  updated_at: integer,
  updated_by: text,
};

export const ApiKey = z.looseObject(apiKey).register(namedSchemas, { id: 'ApiKey' });
export type ApiKey = z.infer<typeof ApiKey>;

export const ApiKeyList = envelopeOf(list(ApiKey)).register(namedSchemas, { id: 'ApiKeyList' });
export type ApiKeyList = z.infer<typeof ApiKeyList>;
export const ApiKeyAnswer = envelopeOf(ApiKey).register(namedSchemas, { id: 'ApiKeyAnswer' });
export type ApiKeyAnswer = z.infer<typeof ApiKeyAnswer>;
/** The one answer that shows the secret. */
export const NewApiKeyAnswer = envelopeOf(z.looseObject({ ...apiKey, secret: z.string() })).register(namedSchemas, {
  id: 'NewApiKeyAnswer',
});
export type NewApiKeyAnswer = z.infer<typeof NewApiKeyAnswer>;

/** It is the caller in the event log, so that it has to be one line there. */
const keyName = filledText.max(200, 'must have at most 200 characters').regex(/^\P{Cc}*$/u, 'must be one line');

export const ApiKeyInput = z
  .looseObject({ name: keyName, description: textOrNull, scope: z.enum(KEY_SCOPES) })
  .register(namedSchemas, { id: 'ApiKeyInput' });
export type ApiKeyInput = z.infer<typeof ApiKeyInput>;

/** What is left out stays. */
export const ApiKeyPatch = ApiKeyInput.partial().register(namedSchemas, { id: 'ApiKeyPatch' });
export type ApiKeyPatch = z.infer<typeof ApiKeyPatch>;
