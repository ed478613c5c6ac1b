// console handlers: one call of one endpoint, already admitted and checked.
// In: an endpoint's id. Out: the types of its query and body, as the contract gives them.
import type { z } from 'zod';
import type { ENDPOINTS, EndpointId } from '../../platform/contract.ts';
import type { Answer } from '../answer.ts';
import type { RecordForm } from '../store/devices.ts';
import type { Actor, ConsoleStore } from '../store/store.ts';

type BodyOf<Id extends EndpointId> = (typeof ENDPOINTS)[Id]['body'] extends z.ZodType
  ? z.output<(typeof ENDPOINTS)[Id]['body']>
  : undefined;

export interface Call<Id extends EndpointId> {
  store: ConsoleStore;
  actor: Actor;
  query: z.output<(typeof ENDPOINTS)[Id]['query']>;
  body: BodyOf<Id>;
  /** The body as it was sent. */
  bodyText: string;
  /** Values of the path's `{names}`. */
  params: Readonly<Record<string, string>>;
  requestId: string;
  /** Which fields records of pages have. */
  pageForm: RecordForm;
}

export type Handler<Id extends EndpointId> = (call: Call<Id>) => Answer;
export type Handlers = { [Id in EndpointId]: Handler<Id> };
