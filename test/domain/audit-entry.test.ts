// test: what an audit entry is about, whatever somebody made of its bytes.
import { describe, expect, it } from 'vitest';
import { entryBody } from '../../src/domain/audit-entry.ts';

describe('the body of an audit entry', () => {
  it.each([
    ['{"at":1,"body":{"by":"ana"},"kind":"stop.set"}', { by: 'ana' }],
    ['{"at":1,"kind":"stop.set"}', {}],
    ['{"at":1,"body":"ana"}', {}],
    ['"ana"', {}],
    ['{"at":1,"bo', {}],
    ['', {}],
  ])('of %j is read without an error', (bytes, body) => {
    expect(entryBody({ bytes })).toEqual(body);
  });
});
