// Configuration: when a reading is trusted. In: the configuration's reader. Out: thresholds; a mistake is one line that names the setting.
import { TRUST_DEFAULT, type TrustSettings } from '../pull/trust-gate.ts';
import type { ConfigReader } from './reader.ts';

/** All but how far clocks may differ, which is one of the settings of time. */
export type TrustThresholds = Omit<TrustSettings, 'skewMs'>;

export function readTrust(reader: ConfigReader): TrustThresholds {
  const usual = TRUST_DEFAULT;
  return {
    unreadablePercent: reader.percent('TRUSTWARD_TRUST_UNREADABLE_PERCENT', usual.unreadablePercent),
    shrunkPercent: reader.percent('TRUSTWARD_TRUST_SHRUNK_PERCENT', usual.shrunkPercent),
    shrunkRecords: reader.count('TRUSTWARD_TRUST_SHRUNK_RECORDS', usual.shrunkRecords, 0),
    grownTimes: reader.count('TRUSTWARD_TRUST_GROWN_TIMES', usual.grownTimes, 1),
    grownRecords: reader.count('TRUSTWARD_TRUST_GROWN_RECORDS', usual.grownRecords, 1),
    recordsMax: reader.count('TRUSTWARD_RECORDS_MAX', usual.recordsMax, 1),
    movedPoints: reader.percent('TRUSTWARD_TRUST_MOVED_POINTS', usual.movedPoints),
    movedRecords: reader.count('TRUSTWARD_TRUST_MOVED_RECORDS', usual.movedRecords, 0),
    driftDayPercent: reader.percent('TRUSTWARD_TRUST_DRIFT_DAY_PERCENT', usual.driftDayPercent),
    driftWeekPercent: reader.percent('TRUSTWARD_TRUST_DRIFT_WEEK_PERCENT', usual.driftWeekPercent),
    stillMs: reader.duration('TRUSTWARD_TRUST_STILL', '30m', '1m'),
  };
}
