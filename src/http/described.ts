// http: what anybody may know of an operation: its words, its schemas, its answers. In: nothing. Out: the type of it, from which
// `/openapi.json` is made.
import type { OpenAPIHono } from '@hono/zod-openapi';
import type { z } from 'zod';

export type Document = ReturnType<OpenAPIHono['getOpenAPI31Document']>;
/** Made when it is first asked for. */
export type DocumentSource = () => Promise<Document>;

export type Tag =
  | 'runs'
  | 'plans'
  | 'decisions'
  | 'rules'
  | 'in force'
  | 'operator'
  | 'audit'
  | 'notifications'
  | 'tokens'
  | 'organizations'
  | 'health';

/** One answer that is no problem: JSON of a schema, text of some content types, or either. */
export interface Answer {
  description: string;
  /** Of the JSON. */
  schema?: z.ZodType;
  /** The content types of the text, such as `text/csv`. */
  types?: readonly string[];
  /** Its own headers, each with what it holds. */
  headers?: Readonly<Record<string, string>>;
}

/** What anybody may know of an operation. */
export interface Described {
  /** Unique; in camel case, as generated clients name their functions. */
  operationId: string;
  tag: Tag;
  summary: string;
  /** More, in sentences. */
  description?: string;
  params?: z.ZodObject;
  query?: z.ZodType;
  headers?: z.ZodObject;
  body?: z.ZodType;
  answers: Readonly<Record<number, Answer>>;
  /** Statuses of problems, beside those that follow from its scope, its input and the guards of every request. */
  refusals?: readonly number[];
}
