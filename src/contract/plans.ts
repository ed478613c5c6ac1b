// contract: what a person does with plans and runs.
import { z } from 'zod';
import { EARNED_MODES } from '../domain/evidence.ts';
import { DIGEST_SHORT, PLAN_STATUSES, SELECTION_MAX } from '../domain/plan.ts';
import { REPORT_FORMATS } from '../domain/replay.ts';
import { RUN_STATUSES } from '../domain/run.ts';
import { intent, leftIntent, plan, run } from './nouns.ts';
import {
  entry,
  givenText,
  idParam,
  keyHeaders,
  limitField,
  nameField,
  pageFields,
  pageSchema,
  positionField,
  referenceField,
} from './operation.ts';
import { reportSchema, text } from './report.ts';

const begun = {
  schema: z
    .strictObject({
      id: text,
      status: z.enum(RUN_STATUSES),
      location: text.describe('the path of the run'),
      run,
    })
    .meta({ id: 'TriggeredRun' }),
  headers: { Location: 'the path of the run' },
};
const runParam = idParam('a run, or its number, or `latest`');

/** Where a run is read over HTTP. */
export function runPath(id: string): string {
  return `/api/runs/${encodeURIComponent(id)}`;
}

export const RUNS = {
  triggerRun: entry({
    id: 'triggerRun',
    method: 'POST',
    path: '/api/runs',
    scope: 'trigger',
    tag: 'runs',
    summary: 'Request a run',
    description: 'Runs go one at a time: it may begin after others. Equal dry runs that wait become one.',
    headers: keyHeaders,
    body: z.strictObject({
      mode: z.enum(['dry-run', ...EARNED_MODES]),
      rules: z
        .array(nameField)
        .min(1)
        .max(1_000)
        .optional()
        .describe('only these rules; without it, the whole active set'),
      wait: z.boolean().default(false).describe('answer when it has finished, not when it has begun'),
    }),
    answers: {
      200: { ...begun, description: 'with `wait`: it has finished; an aborted one shows that in its status' },
      202: { ...begun, description: 'it has begun' },
    },
    refusals: [502],
  }),
  listRuns: entry({
    id: 'listRuns',
    method: 'GET',
    path: '/api/runs',
    scope: 'read',
    tag: 'runs',
    summary: 'List runs',
    query: z.strictObject({ limit: limitField, before: positionField.optional() }),
    answers: {
      200: {
        description: 'a page of runs, the newest first',
        schema: pageSchema('runs', run, {}, z.int().min(1)),
      },
    },
  }),
  getRun: entry({
    id: 'getRun',
    method: 'GET',
    path: '/api/runs/:id',
    scope: 'read',
    tag: 'runs',
    summary: 'Read a run',
    params: runParam,
    answers: { 200: { description: 'the run', schema: run } },
  }),
  getReport: entry({
    id: 'getReport',
    method: 'GET',
    path: '/api/runs/:id/report',
    scope: 'read',
    tag: 'runs',
    summary: 'Read the report of a run',
    params: runParam,
    query: z.strictObject({ format: z.enum(REPORT_FORMATS).default('json') }),
    answers: {
      200: {
        description: 'the report',
        schema: reportSchema,
        types: [
          'text/markdown; charset=utf-8',
          'text/plain; charset=utf-8',
          'text/csv; charset=utf-8',
          'text/html; charset=utf-8',
        ],
      },
    },
  }),
};

const names = z.array(nameField).max(SELECTION_MAX).readonly().default([]);
const keys = z
  .array(nameField)
  .max(SELECTION_MAX)
  .readonly()
  .optional()
  .describe('these intents alone, by the keys that the plan names');
const digest = z
  .string()
  .regex(new RegExp(`^[0-9a-f]{${DIGEST_SHORT},64}$`), `expected ${DIGEST_SHORT} to 64 hexadecimal digits`)
  .optional()
  .describe(
    'of the plan as it was read, or the beginning of it: only what still is so is answered; required once the plan has grown',
  );
const breakGlass = z
  .boolean()
  .default(false)
  .describe('through the change windows, and alone where more people are asked; needs a reason, and scope `admin`');
const hasReason = (body: { breakGlass: boolean; reason?: string | undefined }) =>
  !body.breakGlass || body.reason !== undefined;
const NO_REASON = { path: ['reason'], message: 'is required with breakGlass' };

const refused = z.array(z.strictObject({ action: text, target: text, reason: text }));
/** What applying a plan did; null when it was not applied. */
const applied = z
  .strictObject({
    intents: z.array(intent),
    refused,
    needless: refused.optional().describe('undos that needed no call: their claims have ended'),
  })
  .nullable();
const answered = z.strictObject({ ...plan.shape, applied }).meta({ id: 'AnsweredPlan' });
const part = {
  rest: z.union([plan, z.null()]).describe('the plan without it, which waits on'),
  missed: z
    .array(leftIntent)
    .readonly()
    .describe('what was read and meant, and is not so any longer: it is not answered'),
};
const approved = z.strictObject({ ...answered.shape, ...part }).meta({ id: 'ApprovedPlan' });
const rejected = z.strictObject({ ...answered.shape, ...part }).meta({ id: 'RejectedPlan' });

export const PLANS = {
  listPlans: entry({
    id: 'listPlans',
    method: 'GET',
    path: '/api/plans',
    scope: 'read',
    tag: 'plans',
    summary: 'List plans',
    query: z.strictObject({ status: z.enum(PLAN_STATUSES).optional(), ...pageFields }),
    answers: { 200: { description: 'a page of plans, the newest first', schema: pageSchema('plans', plan) } },
  }),
  getPlan: entry({
    id: 'getPlan',
    method: 'GET',
    path: '/api/plans/:id',
    scope: 'read',
    tag: 'plans',
    summary: 'Read a plan',
    params: idParam('a plan'),
    answers: { 200: { description: 'the plan', schema: plan } },
  }),
  approvePlan: entry({
    id: 'approvePlan',
    method: 'POST',
    path: '/api/plans/:id/approve',
    scope: 'approve',
    adminFor: 'breakGlass',
    tag: 'plans',
    summary: 'Approve a plan, or a part of it',
    params: idParam('a plan'),
    headers: keyHeaders,
    body: z
      .strictObject({
        reason: givenText.optional(),
        reference: referenceField,
        rules: names,
        only: names,
        except: names,
        keys,
        digest,
        breakGlass,
      })
      .refine(hasReason, NO_REASON),
    answers: {
      200: { description: 'the plan as approved, and the plan in which the rest waits', schema: approved },
    },
    refusals: [409],
    needs: 'engine',
  }),
  rejectPlan: entry({
    id: 'rejectPlan',
    method: 'POST',
    path: '/api/plans/:id/reject',
    scope: 'approve',
    tag: 'plans',
    summary: 'Reject a plan',
    params: idParam('a plan'),
    headers: keyHeaders,
    body: z.strictObject({ reason: givenText.optional(), reference: referenceField, digest }),
    answers: { 200: { description: 'the plan as rejected, and the plan in which the rest waits', schema: rejected } },
    refusals: [409],
    needs: 'engine',
  }),
  applyPlan: entry({
    id: 'applyPlan',
    method: 'POST',
    path: '/api/plans/:id/apply',
    scope: 'approve',
    adminFor: 'breakGlass',
    tag: 'plans',
    summary: 'Apply an approved plan',
    params: idParam('a plan'),
    headers: keyHeaders,
    body: z
      .strictObject({ reason: givenText.optional(), reference: referenceField, breakGlass })
      .refine(hasReason, NO_REASON)
      .refine((body) => body.breakGlass || body.reason === undefined, {
        path: ['reason'],
        message: 'belongs to breakGlass',
      }),
    answers: { 200: { description: 'the plan, with what was done and what was refused', schema: answered } },
    refusals: [409, 502],
    needs: 'engine',
  }),
};
