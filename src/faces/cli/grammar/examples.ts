// cli: the examples at the end of a command's help. In: lines, each command under a line `# …` that says what it shows. Out:
// the arguments of commander's `addHelpText`. A test parses each example, and names every command without one.

export function examples(...lines: readonly string[]): ['after', string] {
  return ['after', ['', lines.length > 2 ? 'Examples:' : 'Example:', ...lines.map((line) => `  ${line}`)].join('\n')];
}
