// test: a process that fills a chain until it is killed. Argument: the database. Prints a dot after each sealed run.
import { append, ChainFolder } from './checkpoint-chain.ts';

const chain = await new ChainFolder(process.argv[2]).open();
process.stdout.write('.');
for (let run = 0; run < 10_000; run += 1) {
  await append(chain, 7, 7);
  process.stdout.write('.');
}
