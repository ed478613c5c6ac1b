// test: quiet hours in the words that `serve` and `doctor` show: which are configured, and whether alerts wait now.
import { expect, it } from 'vitest';
import { parseWindows } from '../../../src/domain/change-window.ts';
import { quietHoursText } from '../../../src/faces/report/plan-view.ts';

it('quiet hours show until when alerts wait, only while they do', () => {
  const { windows } = parseWindows('22:00-06:00', 'Europe/Berlin');
  expect(quietHoursText(windows, Date.UTC(2026, 10, 22, 23))).toBe(
    '22:00-06:00 Europe/Berlin; in force until Mon 2026-11-23 06:00 Europe/Berlin (2026-11-23 05:00:00 UTC): alerts wait',
  );
  expect(quietHoursText(windows, Date.UTC(2026, 10, 22, 12))).toBe('22:00-06:00 Europe/Berlin');
});
