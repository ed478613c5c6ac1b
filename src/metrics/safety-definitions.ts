// metrics: what a person must know first: what may be done, what is stopped, in doubt, parked or waiting, and whether the store works.
import type { Definition } from './definition.ts';

export const SAFETY = [
  { name: 'trustward_mode', kind: 'gauge', labels: ['mode'], help: '1 for the mode in force, 0 for the others' },
  {
    name: 'trustward_mode_lowered',
    kind: 'gauge',
    help: '1 while the mode in force is lower than the configured one, since the database is doubtful',
  },
  { name: 'trustward_stopped', kind: 'gauge', help: '1 while an operator has stopped everything' },
  {
    name: 'trustward_stopped_timestamp_seconds',
    kind: 'gauge',
    help: 'When everything was stopped; absent while nothing is',
  },
  {
    name: 'trustward_change_window_end_timestamp_seconds',
    kind: 'gauge',
    help: 'When the change window in force ends, until which nothing acts; absent while none is in force',
  },
  { name: 'trustward_store_up', kind: 'gauge', help: '1 while the database can be read and its last write succeeded' },
  {
    name: 'trustward_store_fault',
    kind: 'gauge',
    labels: ['kind'],
    help: '1 for the fault of the database that lasts; absent without one',
  },
  {
    name: 'trustward_store_read_timestamp_seconds',
    kind: 'gauge',
    help: 'When the database was last read for these metrics',
  },
  {
    name: 'trustward_checkpoints_behind',
    kind: 'gauge',
    help: '1 while the checkpoint file outside the database cannot be written',
  },
  {
    name: 'trustward_database_restored',
    kind: 'gauge',
    help: '1 while the database is older than its checkpoints outside, and no operator has accepted that',
  },
  {
    name: 'trustward_history_failing',
    kind: 'gauge',
    help: '1 while runs are not recorded in the history; absent when it is off',
  },
  {
    name: 'trustward_intents',
    kind: 'gauge',
    labels: ['state'],
    help: 'Intents that are planned (not sent yet), in_doubt (sent, result not known) or parked (waiting for a person)',
  },
  {
    name: 'trustward_intents_oldest_timestamp_seconds',
    kind: 'gauge',
    labels: ['state'],
    help: 'When the oldest intent of this state was made; absent without one',
  },
  {
    name: 'trustward_plans',
    kind: 'gauge',
    labels: ['state'],
    help: 'Plans that are pending (waiting for an answer) or approved (not applied yet)',
  },
  {
    name: 'trustward_plans_oldest_timestamp_seconds',
    kind: 'gauge',
    labels: ['state'],
    help: 'When the oldest plan of this state was sealed; absent without one',
  },
  { name: 'trustward_alerts', kind: 'gauge', labels: ['alert'], help: 'Conditions that were alerted and last' },
  {
    name: 'trustward_alerts_raised_total',
    kind: 'counter',
    labels: ['alert'],
    help: 'Conditions that were alerted when they began',
  },
  { name: 'trustward_notifications_waiting', kind: 'gauge', help: 'Notifications that wait for their webhook' },
  {
    name: 'trustward_notifications_oldest_timestamp_seconds',
    kind: 'gauge',
    help: 'When the oldest waiting notification was made; absent without one',
  },
  {
    name: 'trustward_notifications_total',
    kind: 'counter',
    labels: ['result'],
    help: 'Notifications whose delivery ended, delivered or given_up',
  },
] as const satisfies readonly Definition[];
