// organizations: the keys of an organization's file, and the settings that they are. In: nothing. Out: a schema of the file's form, and the name of
// each setting. INVARIANT: a value is checked where the setting is read from the environment, and nowhere else.
import { z } from 'zod';
import { isOrganizationId, ORGANIZATION_ID_MAX } from '../domain/organization.ts';

/** How a value of the file becomes the text of a setting. `secret`: the file of a credential. */
export type SettingKind = 'text' | 'list' | 'windows' | 'figures' | 'ceiling' | 'file' | 'secret' | 'folders';

export interface Setting {
  name: string;
  kind: SettingKind;
}

const one = (name: string, kind: SettingKind = 'text'): Setting => ({ name: `TRUSTWARD_${name}`, kind });

/** By the key, or by the group and the key. */
export const SETTINGS = {
  api: {
    url: one('API_URL'),
    lists: one('API_LISTS'),
    api_key_file: one('API_KEY_FILE', 'secret'),
    refresh_token_file: one('REFRESH_TOKEN_FILE', 'secret'),
    admin_token_file: one('ADMIN_TOKEN_FILE', 'secret'),
  },
  rules: one('RULES', 'folders'),
  mode: one('MODE'),
  schedule: one('SCHEDULE'),
  watch: one('WATCH'),
  ceilings: { run: one('CEILING_RUN', 'ceiling'), day: one('CEILING_DAY', 'ceiling') },
  act_concurrency: one('ACT_CONCURRENCY'),
  attempts_max: one('ATTEMPTS_MAX'),
  run_failures_max: one('RUN_FAILURES_MAX'),
  serial_devices_max: one('SERIAL_DEVICES_MAX'),
  per_day_times: one('PER_DAY_TIMES'),
  webhooks: one('WEBHOOKS', 'file'),
  webhook_hosts: one('WEBHOOK_HOSTS', 'list'),
  alerts: { to: one('ALERTS_TO', 'list'), silence: one('ALERT_SILENCE'), quiet_hours: one('QUIET_HOURS', 'windows') },
  heartbeat: {
    url_file: one('HEARTBEAT_URL_FILE', 'secret'),
    ca: one('HEARTBEAT_CA', 'file'),
    private: one('HEARTBEAT_PRIVATE'),
  },
  freeze: one('FREEZE', 'windows'),
  time_zone: one('TIME_ZONE'),
  exemptions: { warning: one('EXEMPTION_WARNING'), unused: one('EXEMPTION_UNUSED') },
  history: one('HISTORY'),
  record: one('RECORD', 'list'),
  keep_runs: one('KEEP_RUNS'),
  evidence: one('EVIDENCE', 'figures'),
  trust: {
    unreadable_percent: one('TRUST_UNREADABLE_PERCENT'),
    shrunk_percent: one('TRUST_SHRUNK_PERCENT'),
    shrunk_records: one('TRUST_SHRUNK_RECORDS'),
    grown_times: one('TRUST_GROWN_TIMES'),
    grown_records: one('TRUST_GROWN_RECORDS'),
    moved_points: one('TRUST_MOVED_POINTS'),
    moved_records: one('TRUST_MOVED_RECORDS'),
    drift_day_percent: one('TRUST_DRIFT_DAY_PERCENT'),
    drift_week_percent: one('TRUST_DRIFT_WEEK_PERCENT'),
    still: one('TRUST_STILL'),
    records_max: one('RECORDS_MAX'),
    clock_skew: one('CLOCK_SKEW'),
  },
  timing: {
    request_timeout: one('REQUEST_TIMEOUT'),
    progress_timeout: one('PROGRESS_TIMEOUT'),
    quiet_period: one('QUIET_PERIOD'),
    event_overlap: one('EVENT_OVERLAP'),
    gone_after: one('GONE_AFTER'),
    plan_ttl: one('PLAN_TTL'),
  },
} as const satisfies Record<string, Setting | Record<string, Setting>>;

export function isSetting(given: Setting | Record<string, Setting>): given is Setting {
  return typeof (given as Setting).kind === 'string';
}

/** Every setting with its place in the file. */
export const PLACES: readonly { place: readonly string[]; setting: Setting }[] = Object.entries(SETTINGS).flatMap(
  ([key, given]) =>
    isSetting(given)
      ? [{ place: [key], setting: given }]
      : Object.entries(given as Record<string, Setting>).map(([inner, setting]) => ({ place: [key, inner], setting })),
);

/** `api.url` for TRUSTWARD_API_URL. */
export const KEY_OF: ReadonlyMap<string, string> = new Map(
  PLACES.map(({ place, setting }) => [setting.name, place.join('.')]),
);

const scalar = z.union([z.string(), z.number(), z.boolean()]);
const texts = z.union([z.string(), z.array(z.string()).min(1)]);
const FORMS: Record<SettingKind, z.ZodType> = {
  text: scalar,
  list: texts,
  windows: texts,
  figures: z.union([z.string(), z.record(z.string(), z.number())]),
  ceiling: z.union([z.string(), z.strictObject({ max: z.int().min(0), percent: z.number().min(0).max(100) })]),
  file: z.string().min(1),
  secret: z.string().min(1),
  folders: z.union([z.string().min(1), z.array(z.string().min(1)).min(1)]),
};

/** What is expected, for a value of another form. */
export const FORM_WORDS: Record<SettingKind, string> = {
  text: 'a text or a number',
  list: 'a text, or a list of texts',
  windows: 'a text, or a list of texts',
  figures: 'figures such as {enforce-days: 30}',
  ceiling: '{max: 50, percent: 5}, or the text 50,5%',
  file: 'the path of a file',
  secret: 'the path of a file that holds the credential',
  folders: 'a folder, or a list of folders',
};

function formOf(given: Setting | Record<string, Setting>): z.ZodType {
  if (isSetting(given)) return FORMS[given.kind].optional();
  return z.strictObject(Object.fromEntries(Object.entries(given).map(([key, one]) => [key, formOf(one)]))).optional();
}

export const organizationSchema = z.strictObject({
  id: z.string().refine(isOrganizationId, {
    error: `expected lower-case letters, digits and single hyphens, at most ${ORGANIZATION_ID_MAX}`,
  }),
  name: z
    .string()
    .min(1)
    .max(200)
    .refine((text) => text.trim() !== '' && !/\p{C}/u.test(text), { error: 'expected a text of one line' }),
  ...Object.fromEntries(Object.entries(SETTINGS).map(([key, given]) => [key, formOf(given)])),
});
