// http: what the rest of the product may use of the endpoint.
export { createHttpApp } from './app.ts';
export type {
  HttpDeps,
  MetricsPort,
  OperatorPort,
  PlanAnswer,
  ReadyCheck,
  RuleDetail,
  RunUnderWay,
  StartedRun,
  StreamSource,
  TokensPort,
  Views,
} from './deps.ts';
export { demandFree, type Listening, listen, listenForMetrics, listenForWorker } from './listen.ts';
export { createOrganizationsApp, type OrganizationsApp } from './organizations/app.ts';
export type { OpenedOrganization, OrganizationLine, OrganizationsParts } from './organizations/ports.ts';
export type { Pages } from './pages.ts';
export { SignIn } from './sign-in.ts';
export { SignedInMemory } from './signed-in-memory.ts';
export { loadOrCreateToken, type TokenFile } from './token-file.ts';
export { TokenRegister } from './token-register.ts';
export { type Caller, type KnownToken, type Scope, tokenHash } from './tokens.ts';
