// management contract: the one description of the Management API that client and console share.
// In: nothing. Out: zod schemas (schema and type share a name), closed sets of values, the endpoint table, exact JSON.
// It must never import from either side.

export * from './contract/answers.ts';
export * from './contract/bundle.ts';
export * from './contract/device-update.ts';
export * from './contract/endpoints.ts';
export * from './contract/event.ts';

export { parseExact, stringifyExact } from './contract/exact-json.ts';

export { openApiDocument } from './contract/openapi.ts';
export * from './contract/people-and-devices.ts';
export * from './contract/policy.ts';
export * from './contract/query.ts';
export * from './contract/read-request.ts';
export * from './contract/service.ts';

export { Integer, namedSchemas } from './contract/shapes.ts';
export * from './contract/values.ts';
