// library: what `import … from 'trustward'` gives: the Management API's client, and the contract's schemas and types.
// It must never export the engine's inside.
export { AppError } from './domain/errors.ts';
export type { Clock, EventQuery, Page, Random, WriteAnswer } from './domain/ports.ts';
export type { Written } from './management/client/caller.ts';
export type { ClientOptions, Credential } from './management/client/options.ts';
export { type EventParams, ManagementClient, type PagedSource, type Params } from './management/client.ts';
export * from './management/contract.ts';
export { systemClock } from './system/clock.ts';
export { systemRandom } from './system/ids.ts';
