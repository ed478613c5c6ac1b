// http: what the rest of the product may use of the endpoint.
export { createHttpApp } from './app.ts';
export type {
  HttpDeps,
  MetricsPort,
  OperatorPort,
  PlanAnswer,
  ReadyCheck,
  RunUnderWay,
  StartedRun,
  StreamSource,
  TokensPort,
} from './deps.ts';
export { demandFree, type Listening, listen, listenForMetrics, listenForWorker } from './listen.ts';
export { createOrganizationsApp } from './organizations/app.ts';
export type { OpenedOrganization, OrganizationLine } from './organizations/ports.ts';
export { SignIn } from './sign-in.ts';
export { SignedInMemory } from './signed-in-memory.ts';
export { loadOrCreateToken } from './token-file.ts';
export { TokenRegister } from './token-register.ts';
export { type KnownToken, tokenHash } from './tokens.ts';
