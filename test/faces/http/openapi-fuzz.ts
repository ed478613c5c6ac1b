// test: random requests made from the document, to a daemon over a real organization and database. In: how many. Out: what went wrong: a status
// of 500 or more, an answer that the document does not describe, a connection that breaks.
import fc from 'fast-check';
import { answerCheck, type DescribedOperation, type OpenApi, operationsOf } from '../../support/openapi-document.ts';
import { type OpenApiRequest, openApiRequests } from '../../support/openapi-requests.ts';
import { startWhole } from '../web/whole-organization.ts';

const AT_ONCE = 8;
/** Members and parameters whose values may name something. */
const NAMED = [
  'id',
  'name',
  'run',
  'rule',
  'rules',
  'subject',
  'target',
  'only',
  'of',
  'before',
  'after',
  'source',
  'kind',
];
/** A request that waits longer is a fault. */
const WITHIN_MS = 30_000;

export interface Fuzzed {
  faults: string[];
  /** By operation and status. */
  answers: Map<string, number>;
}

export async function fuzz(requests: number, seed: number): Promise<Fuzzed> {
  const whole = await startWhole();
  const headers = { authorization: `Bearer ${whole.token}` };
  const read = async (path: string) => (await fetch(`${whole.url}${path}`, { headers })).json();
  const document = (await read('/openapi.json')) as OpenApi;
  const operations = operationsOf(document);
  const check = answerCheck(document, { isClosed: true });
  const names = await knownNames(read);
  const known = Object.fromEntries(NAMED.map((name) => [name, names]));
  const made = fc.sample(openApiRequests(document, { known }), { numRuns: requests, seed }).values();
  const result: Fuzzed = { faults: [], answers: new Map() };

  async function ask({
    operationId,
    method,
    address: path,
    headers: more,
    body: given,
  }: OpenApiRequest): Promise<void> {
    const operation = operations.find((one) => one.operationId === operationId) as DescribedOperation;
    const body = method === 'GET' ? undefined : given;
    const describe = (text: string) => `${text}\n  ${method} ${path.slice(0, 300)} ${body?.slice(0, 300) ?? ''}`;
    try {
      const answer = await fetch(`${whole.url}${path}`, {
        method,
        headers: { ...headers, ...more },
        signal: AbortSignal.timeout(WITHIN_MS),
        ...(body !== undefined && { body }),
      });
      const type = answer.headers.get('content-type') ?? '';
      if (type === 'text/event-stream') await answer.body?.cancel();
      const text = type === 'text/event-stream' ? '' : await answer.text();
      const key = `${operation.operationId} ${answer.status}`;
      result.answers.set(key, (result.answers.get(key) ?? 0) + 1);
      const fault = check(operation, answer.status, type, text);
      if (answer.status >= 500 && operation.operationId !== 'readyz') result.faults.push(describe(`${key}: ${text}`));
      else if (fault) result.faults.push(describe(fault));
    } catch (error) {
      result.faults.push(describe(`${operation.operationId}: ${error}`));
    }
  }

  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (const request of made) {
        if (result.faults.length >= 20) return;
        await ask(request);
      }
    }),
  );
  const { status } = await fetch(`${whole.url}/healthz`);
  if (status !== 200) result.faults.push(`afterwards /healthz answers ${status}`);
  await whole.close();
  return result;
}

/** Ids, rules, targets and subjects that exist, so that requests reach more than a refusal. */
async function knownNames(read: (path: string) => Promise<unknown>): Promise<string[]> {
  const names = new Set(['latest', '1', '2', 'admin', 'device', 'user', 'devices', 'decision.made', 'run']);
  for (const list of ['runs', 'plans', 'decisions', 'intents', 'claims', 'exemptions', 'rules']) {
    const rows = ((await read(`/api/${list}?limit=20`)) as Record<string, Record<string, unknown>[]>)[list] ?? [];
    for (const row of rows)
      for (const key of ['id', 'rule', 'target', 'subjectId']) if (typeof row[key] === 'string') names.add(row[key]);
  }
  return [...names];
}
