// metrics: the Management API, looks at the event log, the endpoint, the queue, the disk.
import { CALL_BUCKETS, type Definition } from './definition.ts';

export const PROCESS = [
  {
    name: 'trustward_build_info',
    kind: 'gauge',
    labels: ['version'],
    help: 'Always 1, with the version of Trustward',
  },
  {
    name: 'trustward_api_requests_total',
    kind: 'counter',
    labels: ['operation', 'answer'],
    help: 'Requests to the Management API, each attempt, by the status of the answer or the cause without one',
  },
  {
    name: 'trustward_api_request_duration_seconds',
    kind: 'histogram',
    labels: ['operation'],
    buckets: CALL_BUCKETS,
    help: 'Time of a request to its last byte; of a list that is read element by element, to the begin of the answer',
  },
  { name: 'trustward_api_retries_total', kind: 'counter', labels: ['operation'], help: 'Reads that were tried again' },
  {
    name: 'trustward_api_clock_skew_seconds',
    kind: 'gauge',
    help: 'Clock of the Management API minus ours, at its last answer; absent before one',
  },
  { name: 'trustward_quiet_period_seconds', kind: 'gauge', help: 'The quiet period in force' },
  { name: 'trustward_watch_interval_seconds', kind: 'gauge', help: 'Time between two looks at the event log; 0: off' },
  {
    name: 'trustward_watch_state',
    kind: 'gauge',
    labels: ['state'],
    help: '1 for the state of watch (looks, rests, fails), 0 for the others; absent when it is off',
  },
  {
    name: 'trustward_watch_last_look_timestamp_seconds',
    kind: 'gauge',
    help: 'When the last look at the event log was made; absent before the first',
  },
  { name: 'trustward_watch_looks_total', kind: 'counter', labels: ['result'], help: 'Looks at the event log' },
  { name: 'trustward_watch_runs_total', kind: 'counter', labels: ['kind'], help: 'Runs that looks made or asked for' },
  { name: 'trustward_watch_events_total', kind: 'counter', help: 'New events that looks found' },
  {
    name: 'trustward_watch_subjects_total',
    kind: 'counter',
    labels: ['result'],
    help: 'Subjects that new events named: all (named), and those that were not found or not readable',
  },
  {
    name: 'trustward_http_requests_total',
    kind: 'counter',
    labels: ['method', 'route', 'status'],
    help: 'Requests that the endpoint answered, by the pattern of the route',
  },
  {
    name: 'trustward_http_request_duration_seconds',
    kind: 'histogram',
    labels: ['route'],
    buckets: CALL_BUCKETS,
    help: 'Time until the endpoint had an answer',
  },
  { name: 'trustward_http_streams', kind: 'gauge', help: 'Open streams of events' },
  { name: 'trustward_queue_waiting', kind: 'gauge', labels: ['lane'], help: 'Work that waits for its turn' },
  {
    name: 'trustward_queue_work_total',
    kind: 'counter',
    labels: ['lane', 'result'],
    help: 'Work by its result: accepted, joined (became equal work that waited), refused, done, failed',
  },
  {
    name: 'trustward_queue_wait_max_seconds',
    kind: 'gauge',
    labels: ['lane'],
    help: 'The longest wait of a lane since the start',
  },
  {
    name: 'trustward_database_bytes',
    kind: 'gauge',
    labels: ['file'],
    help: 'Size of the database and of its write-ahead log',
  },
  {
    name: 'trustward_disk_free_bytes',
    kind: 'gauge',
    help: 'What the file system of the database still takes',
  },
  { name: 'trustward_disk_size_bytes', kind: 'gauge', help: 'Size of the file system of the database' },
] as const satisfies readonly Definition[];
