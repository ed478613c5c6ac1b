// library: what `import … from 'trustward'` gives: the Management API's client, and the contract's schemas and types.
// It must never export the engine's inside.

export { AppError } from './domain/errors.ts';

export type { Clock, EventQuery, Page, Random, WriteAnswer } from './domain/ports.ts';

export type { Written } from './platform/client/caller.ts';

export type { ClientOptions, Credential } from './platform/client/fault.ts';
export type { PagedSource } from './platform/client/paged-lists.ts';
export { type EventParams, ManagementClient, type Params } from './platform/client.ts';
export * from './platform/contract.ts';

export { systemClock } from './runtime/system/clock.ts';

export { systemRandom } from './runtime/system/ids.ts';
