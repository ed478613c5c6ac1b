// rules: what operators are called elsewhere, and how that is written here. In: an unknown operator. Out: a hint by its meaning, or else by its spelling.
// The examples are whole conditions that load.
import { nearestName } from '../../base/nearest-name.ts';

/** Each example, and the names that people write for it. */
export const OTHER_NAMES: { readonly [example: string]: string } = {
  '{"==": [{"var": "Platform"}, "macOS"]}': 'equals equal eq is same = $eq',
  '{"!=": [{"var": "Platform"}, "macOS"]}': 'not_equals not_equal ne neq is_not differs <> $ne',
  '{"<": [{"var": "TrustData.EntityTrustscore"}, 40]}': 'lt less less_than below under smaller_than $lt',
  '{"<=": [{"var": "TrustData.EntityTrustscore"}, 40]}': 'lte le at_most max_value =< $lte',
  '{">": [{"var": "LoginCount"}, 40]}': 'gt greater greater_than more_than above over exceeds $gt',
  '{">=": [{"var": "LoginCount"}, 40]}': 'gte ge at_least min_value => $gte',
  '{"<=": [20, {"var": "TrustData.EntityTrustscore"}, 40]}': 'between in_range range',
  '{">": [{"age": {"var": "LastLogin"}}, "90d"]}':
    'older_than older olderthan not_since ago days_ago days_since before_days stale inactive_for inactive last_seen_before age_gt age_over elapsed',
  '{"<": [{"age": {"var": "LastLogin"}}, "90d"]}':
    'newer_than newer younger_than younger within_last in_last recent since fresher_than age_lt age_under',
  '{"<": [{"var": "LastLogin"}, {"var": "$now"}]}': 'before after earlier later date now today',
  '{"and": [{"missing": ["OS"]}, {"==": [{"var": "Platform"}, "macOS"]}]}': '&& all_of every_of both $and allof',
  '{"or": [{"missing": ["OS"]}, {"==": [{"var": "Platform"}, "macOS"]}]}': '|| any_of either $or anyof one_of_these',
  '{"!": [{"in": [{"var": "Platform"}, ["iOS", "macOS"]]}]}': 'not not_in nin $nin $not isnt negate none_of',
  '{"in": [{"var": "Platform"}, ["iOS", "macOS"]]}': 'one_of oneof is_in member member_of included $in among',
  '{"in": ["employee", {"var": "Roles"}]}': 'contains includes has has_role include contain',
  '{"missing": ["OS"]}':
    'is_null isnull null absent empty is_empty undefined unset not_exists is_missing never nil blank',
  '{"!": [{"missing": ["OS"]}]}': 'exist present is_set isset defined not_null not_empty $exists has_value notnull',
  '{"some": [{"var": "Roles"}, {"==": [{"var": ""}, "employee"]}]}': 'any any_match exists_in for_any',
  '{"all": [{"var": "Roles"}, {"==": [{"var": ""}, "employee"]}]}': 'every each all_match for_all foreach',
  '{">=": [{"count": [{"var": "Roles"}]}, 2]}': 'length len size number_of how_many cardinality $size',
  '{"matches": [{"var": "DeviceFriendlyName"}, "^test-"]}': 'regex regexp match like glob pattern =~ ~ $regex rlike',
  '{"starts_with": [{"var": "DeviceFriendlyName"}, "test-"]}': 'prefix begins_with startswith has_prefix begins',
  '{"ends_with": [{"var": "DeviceFriendlyName"}, "-test"]}': 'suffix endswith has_suffix finishes_with',
  '{"version_lt": [{"var": "OS"}, "14.2"]}':
    'version version_below older_version version_less version_less_than semver semver_lt outdated version_compare',
  '{"version_gte": [{"var": "OS"}, "14.2"]}': 'version_at_least min_version newer_version semver_gte version_from',
  '{"some": [{"var": "$owners"}, {"in_group": "admins"}]}': 'group has_group member_of_group groups belongs_to ingroup',
  '{">=": [{"event_count": {"severity": "ERROR", "within": "10m"}}, 5]}':
    'events count_events errors error_count event_rate frequency occurrences happened number_of_events',
  '{">": [{"since_last_event": {"type": "Access", "within": "30d"}}, "7d"]}':
    'last_event time_since_event since_event no_event_for silent_for quiet_for',
  '{"changed_within": ["TrustData.Level", "1d"]}': 'changed has_changed changed_in modified_within changed_recently',
  '{"unchanged_for": ["TrustData.Level", "1d"]}': 'unchanged same_for stable_for constant_for held_for for not_changed',
  '{"==": [{"previous": "TrustData.Level"}, "High"]}': 'was prior last_value old old_value earlier_value before_value',
};

/** Fields, and what they are called elsewhere. Written without case, `_` and `-`. */
const OTHER_FIELDS: { readonly [path: string]: string } = {
  LastLogin:
    'lastseen lastactive lastactivity lastcheckin lastcontact lastsync lastconnected lastused lastaccess seenat',
  'MdmData.Timestamp': 'lastreport reportedat mdmtime mdmtimestamp lastmdmreport',
  'MdmData.CompromisedStatus': 'compromised iscompromised jailbroken isjailbroken rooted isrooted infected',
  'MdmData.CompliantStatus': 'compliant iscompliant compliance compliancestatus noncompliant',
  'TrustData.EntityTrustscore': 'score trust trustscore riskscore risk',
  'TrustData.Level': 'level trustlevel risklevel',
  RegisteredStatus: 'registered isregistered enrolled isenrolled managed',
  Banned: 'isbanned blocked isblocked denied',
  SerialNumber: 'serial serialno sn',
  SerialNumbers: 'serial serialno devices deviceserials',
  DeviceFriendlyName: 'name hostname devicename computername friendlyname',
  ServiceName: 'name servicename appname',
  Name: 'username displayname fullname',
  Emails: 'email owner owners user users mail username assignedto',
  Email: 'emails mail address login username',
  OS: 'osversion operatingsystem version osname',
  Platform: 'ostype system devicetype',
  Ownership: 'owned ownedby ownertype byod corporate',
  AppVersion: 'agentversion clientversion',
  CreatedAt: 'created enrolledat registeredat firstseen',
  LastUpdatedAt: 'updated updatedat modified modifiedat changedat',
  Groups: 'group memberof teams',
  Roles: 'role',
  Enabled: 'disabled isenabled isdisabled active status state',
};

/** The field that another name means, among those that there are; the part before its last dot may be another one. */
export function fieldMeant(written: string, paths: readonly string[]): string | undefined {
  const plain = written
    .slice(written.lastIndexOf('.') + 1)
    .replaceAll(/[_\- ]/g, '')
    .toLowerCase();
  return paths.find((path) => Object.hasOwn(OTHER_FIELDS, path) && OTHER_FIELDS[path]?.split(' ').includes(plain));
}

const EXAMPLES = new Map(
  Object.entries(OTHER_NAMES).flatMap(([example, names]) => names.split(' ').map((name) => [name, example] as const)),
);

/** What is meant by an operator that there is not; empty where nothing is near. */
export function operatorHint(written: string, names: Iterable<string>): string {
  const plain = written
    .replaceAll(/(?<=[a-z])(?=[A-Z])/g, '_')
    .replaceAll(/[- ]/g, '_')
    .toLowerCase();
  const nearest = EXAMPLES.has(plain) ? plain : nearestName(plain, [...names, ...EXAMPLES.keys()]);
  const example = EXAMPLES.get(nearest ?? '');
  if (example !== undefined) return `; write, for example, ${example}`;
  return nearest === undefined ? '' : `; did you mean \`${nearest}\`?`;
}
