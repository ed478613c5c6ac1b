// report: names of any length: every format is made, and what people read is clipped; JSON has all of it.
import { describe, expect, it } from 'vitest';
import { views } from '../../../src/faces/report/index.ts';
import { addRun, decision, intent, openStore } from '../../support/filled-store.ts';

const NAME_LENGTH = 100_000;

async function reportOf(name: string, format: 'text' | 'md' | 'json'): Promise<string> {
  const store = openStore();
  const effect = { text: 'ban', devices: [{ id: 'device-2', name, platform: 'macOS', model: 'Mac14,2' }] };
  const run = await addRun(store, {
    decisions: [
      decision({ subjectName: name, effect, facts: { DeviceFriendlyName: name } }),
      decision({ id: 'd2', subjectName: name, decision: 'skip', reason: 'exempt', reasonText: 'exempt' }),
    ],
    intents: [intent()],
  });
  let text = '';
  for await (const chunk of views.report(store, run, format)) text += chunk;
  return text;
}

describe('a device name of 100,000 characters', () => {
  const words = 'Ana laptop '.repeat(NAME_LENGTH / 11);
  const oneWord = 'A'.repeat(NAME_LENGTH);

  it.each([
    ['of one word', oneWord],
    ['of words', words],
    ['of wide letters', '雪'.repeat(NAME_LENGTH)],
    ['of one letter with marks', `a${'\u0301'.repeat(NAME_LENGTH)}`],
  ])('is clipped where people read it: %s', async (_, name) => {
    for (const format of ['text', 'md'] as const) {
      const text = await reportOf(name, format);
      expect(text.length).toBeLessThan(20_000);
      expect(text).toContain('…');
      expect(text.replaceAll(/\s/g, '')).not.toContain(name.slice(0, 121).replaceAll(/\s/g, ''));
    }
  });

  it('is whole in JSON', async () => {
    expect(JSON.parse(await reportOf(words, 'json')).decisions[0].subject.name).toBe(words);
  });
});
