// web: a JSON Schema of the endpoint's document as rows for people: one for each name, those of inner objects as `outer.inner`. In: a schema.
// Out: its names with types, and a type in words that leads to the schemas that it names.

import type { Child } from 'hono/jsx';
import { Link } from '../../../report/html/link.tsx';
import { Words } from '../../../report/html/text.tsx';

/** What our documents use of JSON Schema. */
export interface JsonSchema {
  $ref?: string;
  type?: string | readonly string[];
  enum?: readonly unknown[];
  anyOf?: readonly JsonSchema[];
  items?: JsonSchema;
  properties?: { readonly [name: string]: JsonSchema };
  required?: readonly string[];
  additionalProperties?: JsonSchema | boolean;
  description?: string;
  default?: unknown;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  maxItems?: number;
}

export interface Field {
  name: string;
  schema: JsonSchema;
  isRequired: boolean;
}

export const schemaId = (name: string) => `schema-${name}`;

/** Of an object, and of the objects in it and in its lists. */
export function fieldsOf(schema: JsonSchema, prefix = ''): Field[] {
  return Object.entries(schema.properties ?? {}).flatMap(([key, inner]) => {
    const name = `${prefix}${key}`;
    const field = { name, schema: inner, isRequired: schema.required?.includes(key) ?? false };
    const rows = inner.items?.properties ? inner.items : inner;
    return [field, ...fieldsOf(rows, rows === inner ? `${name}.` : `${name}[].`)];
  });
}

export function TypeOf({ schema }: { schema: JsonSchema }): Child {
  const { $ref, anyOf, items, additionalProperties: values, type } = schema;
  if ($ref !== undefined) {
    const name = $ref.split('/').at(-1) as string;
    return <Link href={`#${schemaId(name)}`}>{name}</Link>;
  }
  if (anyOf)
    return anyOf.map((one, at) => (
      <>
        {at > 0 ? ' or ' : ''}
        <TypeOf schema={one} />
      </>
    ));
  if (schema.enum) return <Words>{schema.enum.map((value) => `\`${value}\``).join(', ')}</Words>;
  const orNull = Array.isArray(type) && type.includes('null') ? ' or null' : '';
  if (items)
    return (
      <>
        list of <TypeOf schema={items} />
        {orNull}
      </>
    );
  if (typeof values === 'object')
    return (
      <>
        by name: <TypeOf schema={values} />
        {orNull}
      </>
    );
  const types = type === undefined ? [] : typeof type === 'string' ? [type] : type;
  return types.length === 0 ? 'any JSON value' : types.join(' or ');
}

/** What it means, its default, its bounds. */
export function About({ schema }: { schema: JsonSchema }) {
  const { description, minimum, maximum, minLength, maxLength, maxItems } = schema;
  const bounds = [
    schema.default === undefined ? '' : `\`${JSON.stringify(schema.default)}\` by default`,
    maximum !== undefined && maximum < 1e9 ? `${minimum ?? 0} to ${maximum}` : '',
    maxLength === undefined ? '' : `${minLength ?? 0} to ${maxLength} characters`,
    maxItems === undefined ? '' : `at most ${maxItems}`,
  ];
  return <Words>{[description ?? '', ...bounds].filter((text) => text !== '').join('; ')}</Words>;
}
