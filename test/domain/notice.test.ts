// test: which addresses a message to a person may go to.
import { expect, it } from 'vitest';
import { mailboxFault } from '../../src/domain/notice.ts';

it.each([
  ['', 'there is no address'],
  ['ana@example.com\r\nBcc: all@example.com', 'the address holds a line break or a character that is not shown'],
  ['ana@\u202eexample.com', 'the address holds a line break or a character that is not shown'],
  ['ana@example.com,bo@example.com', 'the address is not one mailbox such as ana@example.com'],
  ['Ana <ana@example.com>', 'the address is not one mailbox such as ana@example.com'],
  ['all: ana@example.com;', 'the address is not one mailbox such as ana@example.com'],
  ['ana', 'the address is not one mailbox such as ana@example.com'],
  ['ana@bo@example.com', 'the address is not one mailbox such as ana@example.com'],
  [`${'a'.repeat(243)}@example.com`, 'the address is longer than 254 characters'],
  [`${'a'.repeat(242)}@example.com`, undefined],
  ['ana.lópez+laptop@例え.jp', undefined],
])('mail cannot go to an address that is more or less than one mailbox: %j', (address, fault) => {
  expect(mailboxFault(address)).toBe(fault);
});
