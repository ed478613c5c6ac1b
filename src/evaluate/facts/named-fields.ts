// evaluate: reads the fields that most rules read by names that stand in the code. V8 makes one load of such a read, and a search of one by a
// variable, which took a quarter of the time of judging. In: an object whose prototype has none of the names. Out: its values, by position.
// Fields that are not here are read by their key: nothing but speed depends on this file.
import type { Fact, Facts } from '../../domain/facts.ts';

export interface NamedFields {
  keys: readonly string[];
  /** Writes the value of each key, undefined where there is none. */
  read(holder: Facts, values: (Fact | undefined)[]): void;
}

const DEVICE: NamedFields = {
  keys: ['Ownership', 'Platform', 'Model', 'RegisteredStatus', 'Roles', 'OS', 'AppVersion', 'LastLogin', 'LoginCount'],
  read(holder, values) {
    values[0] = holder.Ownership;
    values[1] = holder.Platform;
    values[2] = holder.Model;
    values[3] = holder.RegisteredStatus;
    values[4] = holder.Roles;
    values[5] = holder.OS;
    values[6] = holder.AppVersion;
    values[7] = holder.LastLogin;
    values[8] = holder.LoginCount;
  },
};

const USER: NamedFields = {
  keys: ['Name', 'Email', 'Groups', 'Roles', 'LastLogin', 'LoginCount'],
  read(holder, values) {
    values[0] = holder.Name;
    values[1] = holder.Email;
    values[2] = holder.Groups;
    values[3] = holder.Roles;
    values[4] = holder.LastLogin;
    values[5] = holder.LoginCount;
  },
};

const MDM_DATA: NamedFields = {
  keys: ['Timestamp', 'Source', 'CompromisedStatus', 'CompliantStatus'],
  read(holder, values) {
    values[0] = holder.Timestamp;
    values[1] = holder.Source;
    values[2] = holder.CompromisedStatus;
    values[3] = holder.CompliantStatus;
  },
};

const TRUST_DATA: NamedFields = {
  keys: ['EntityTrustscore', 'AccessTrustscore', 'OverrideActive', 'Level', 'UpdatedAt', 'Factors'],
  read(holder, values) {
    values[0] = holder.EntityTrustscore;
    values[1] = holder.AccessTrustscore;
    values[2] = holder.OverrideActive;
    values[3] = holder.Level;
    values[4] = holder.UpdatedAt;
    values[5] = holder.Factors;
  },
};

export const NO_FIELDS: NamedFields = { keys: [], read() {} };

/** The ones that know most of the keys. */
export function namedFieldsFor(keys: readonly string[]): NamedFields {
  const known = (fields: NamedFields): number => keys.filter((key) => fields.keys.includes(key)).length;
  return [DEVICE, USER, MDM_DATA, TRUST_DATA].reduce(
    (best, each) => (known(each) > known(best) ? each : best),
    NO_FIELDS,
  );
}
