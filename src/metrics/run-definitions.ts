// metrics: runs, and what they read, judge, decide and do.
import { type Definition, WORK_BUCKETS } from './definition.ts';

export const RUNS = [
  {
    name: 'trustward_runs_total',
    kind: 'counter',
    labels: ['mode', 'trigger', 'status'],
    help: 'Runs that ended, completed or aborted',
  },
  {
    name: 'trustward_run_duration_seconds',
    kind: 'histogram',
    labels: ['trigger'],
    buckets: WORK_BUCKETS,
    help: 'Time of a run, from its first record to its last',
  },
  {
    name: 'trustward_run_stage_duration_seconds',
    kind: 'histogram',
    labels: ['stage'],
    buckets: WORK_BUCKETS,
    help: 'Time of a run in one of its stages',
  },
  {
    name: 'trustward_run_started_timestamp_seconds',
    kind: 'gauge',
    help: 'When the run under way began; absent between two runs',
  },
  {
    name: 'trustward_last_run_failed',
    kind: 'gauge',
    help: '1 when the last whole run since the start failed, 0 when it was completed; absent before the first',
  },
  {
    name: 'trustward_last_whole_run_timestamp_seconds',
    kind: 'gauge',
    help: 'When the newest completed run over all active rules ended',
  },
  {
    name: 'trustward_next_run_timestamp_seconds',
    kind: 'gauge',
    help: 'When the schedule makes the next run; absent without one',
  },
  { name: 'trustward_rules', kind: 'gauge', labels: ['mode'], help: 'Loaded rules' },
  {
    name: 'trustward_rules_refused',
    kind: 'gauge',
    help: '1 while the rules folder is refused and the last good set stays active',
  },
  {
    name: 'trustward_organizations',
    kind: 'gauge',
    help: 'Organizations that are worked on; absent in a process of one organization',
  },
  {
    name: 'trustward_organizations_refused',
    kind: 'gauge',
    help: '1 while the folder of organizations is refused and the last good set stays; absent in a process of one organization',
  },
  {
    name: 'trustward_organization_problem',
    kind: 'gauge',
    labels: ['organization', 'kind'],
    help: 'At an endpoint or a worker over PostgreSQL: 1 while the credential (kind `credential`), the webhooks (`webhooks`) or the rules (`rules`) of an organization cannot be used; those beyond the first 100 are counted together',
  },
  {
    name: 'trustward_rule_subjects',
    kind: 'gauge',
    labels: ['rule', 'verdict'],
    help: 'Subjects by the verdict of a loaded rule in the last run over lists that judged it',
  },
  {
    name: 'trustward_source_last_trusted_timestamp_seconds',
    kind: 'gauge',
    labels: ['source'],
    help: 'When a source that rules read was last read and trusted; for events, until when the log is known',
  },
  {
    name: 'trustward_source_trusted',
    kind: 'gauge',
    labels: ['source'],
    help: '1 when the last run over lists could use a source that it needed, otherwise 0',
  },
  {
    name: 'trustward_source_records',
    kind: 'gauge',
    labels: ['source'],
    help: 'Records of a source in its last trusted reading',
  },
  {
    name: 'trustward_source_untrusted_total',
    kind: 'counter',
    labels: ['source', 'reason'],
    help: 'Readings that were not trusted, by each reason',
  },
  {
    name: 'trustward_decisions_total',
    kind: 'counter',
    labels: ['rule', 'decision', 'reason'],
    help: 'New and changed decisions',
  },
  { name: 'trustward_claims', kind: 'gauge', labels: ['status'], help: 'Claims in force, standing or orphaned' },
  { name: 'trustward_exemptions', kind: 'gauge', help: 'Exemptions in force' },
  { name: 'trustward_attempts_total', kind: 'counter', labels: ['action'], help: 'Writing requests that were sent' },
  {
    name: 'trustward_outcomes_total',
    kind: 'counter',
    labels: ['action', 'outcome'],
    help: 'Outcomes of intents, also each change of one',
  },
  {
    name: 'trustward_withdrawn_total',
    kind: 'counter',
    labels: ['action', 'reason'],
    help: 'Intents that preflight refused before any call',
  },
  {
    name: 'trustward_plan_changes_total',
    kind: 'counter',
    labels: ['change'],
    help: 'Plans that were sealed, approved, rejected, superseded, applied, interrupted, or that expired',
  },
  {
    name: 'trustward_event_to_act_seconds',
    kind: 'histogram',
    buckets: WORK_BUCKETS,
    help: 'Time from the oldest new event that a look found to each call that it led to',
  },
  {
    name: 'trustward_audit_entries_total',
    kind: 'counter',
    labels: ['family'],
    help: 'Audit entries that were committed',
  },
] as const satisfies readonly Definition[];
