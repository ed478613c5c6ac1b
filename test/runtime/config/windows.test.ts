// test: change windows and quiet hours in the environment: where their zone comes from, and that what is wrong is one line with what is expected.
import { expect, it } from 'vitest';
import { readChangeWindows, readConfig } from '../../../src/runtime/config/config.ts';

const faultsOf = (env: Record<string, string>) => {
  try {
    readConfig(env);
    return [];
  } catch (error) {
    return (error as Error).message.split('\n');
  }
};

it('a window without a time zone has TRUSTWARD_TIME_ZONE, and without that UTC', () => {
  const zonesOf = (env: Record<string, string>) => readConfig(env).windows.freeze.map(({ timeZone }) => timeZone);
  const TRUSTWARD_FREEZE = 'Fri 18:00-Mon 06:00; 22:00-06:00 Asia/Kolkata';
  expect(zonesOf({ TRUSTWARD_FREEZE })).toEqual(['UTC', 'Asia/Kolkata']);
  expect(zonesOf({ TRUSTWARD_FREEZE, TRUSTWARD_TIME_ZONE: 'Europe/Berlin' })).toEqual([
    'Europe/Berlin',
    'Asia/Kolkata',
  ]);
  expect(readConfig({}).windows).toEqual({ freeze: [], quietHours: [] });
});

it('each wrong window is one line that names the setting, the window and what is expected', () => {
  const faults = faultsOf({
    TRUSTWARD_FREEZE: 'weekends; 22:00-06:00 Mars/Olympus',
    TRUSTWARD_QUIET_HOURS: '00:00-24:00',
    TRUSTWARD_TIME_ZONE: 'Berlin',
  });
  expect(faults).toEqual([
    'configuration: TRUSTWARD_TIME_ZONE is `Berlin`: expected a time zone such as Europe/Berlin',
    expect.stringMatching(/^configuration: TRUSTWARD_FREEZE: `weekends`: expected `Fri 18:00-Mon 06:00`/),
    expect.stringMatching(/^configuration: TRUSTWARD_FREEZE: .*there is no time zone `Mars\/Olympus`/),
    expect.stringMatching(/^configuration: TRUSTWARD_QUIET_HOURS: .*covers the whole day/),
  ]);
  expect(() => readChangeWindows({ TRUSTWARD_FREEZE: 'weekends' })).toThrow('TRUSTWARD_FREEZE: `weekends`');
});
