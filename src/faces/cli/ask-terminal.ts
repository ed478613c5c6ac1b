// cli: asks the person at the terminal. In: a question. Out: the line that was typed; empty at the end of the input or on Ctrl-C.
// The question goes to standard error: standard output has only the result.

export async function askTerminal(question: string): Promise<string> {
  const { createInterface } = await import('node:readline');
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  return new Promise((resolve) => {
    lines.on('SIGINT', () => lines.close());
    lines.on('close', () => resolve(''));
    lines.question(question, (answer) => {
      resolve(answer);
      lines.close();
    });
  });
}
