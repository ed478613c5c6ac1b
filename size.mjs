// How large the house is: lines and files by folder, import lines, exported names that one other file alone uses. Usage: npm run size
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import ts from 'typescript';

const tracked = execFileSync('git', ['ls-files', 'src', 'test'], { encoding: 'utf8' }).trim().split('\n');
const files = new Map(tracked.map((path) => [path, readFileSync(path, 'utf8')]));
const linesOf = (text) => text.split('\n').length - 1;
const isCode = (path) => /^src\/.*\.tsx?$/.test(path);

const folders = new Map();
for (const [path, text] of files) {
  const [top, room] = path.split('/');
  for (const name of top === 'src' && path.split('/').length > 2 ? [top, `${top}/${room}`] : [top]) {
    const sum = folders.get(name) ?? { files: 0, lines: 0 };
    folders.set(name, { files: sum.files + 1, lines: sum.lines + linesOf(text) });
  }
}
for (const [name, { files: count, lines }] of [...folders].sort())
  console.log(`${name.padEnd(16)} ${String(count).padStart(5)} files ${String(lines).padStart(7)} lines`);

let code = 0;
let importLines = 0;
const exported = [];
const users = new Map();
for (const [path, text] of files) {
  if (!isCode(path)) continue;
  code += linesOf(text);
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  for (const statement of source.statements) {
    const from = ts.isImportDeclaration(statement) || ts.isExportDeclaration(statement) ? statement.moduleSpecifier?.text : undefined;
    if (from !== undefined) {
      importLines += linesOf(`${statement.getText()}\n`);
      const named = statement.importClause?.namedBindings ?? statement.exportClause;
      if (from.startsWith('.') && named?.elements)
        for (const { name, propertyName } of named.elements) {
          const key = `${normalize(join(dirname(path), from))} ${(propertyName ?? name).text}`;
          users.set(key, (users.get(key) ?? new Set()).add(path));
        }
    } else if (ts.canHaveModifiers(statement) && ts.getModifiers(statement)?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword)) {
      const names = ts.isVariableStatement(statement) ? statement.declarationList.declarations.map(({ name }) => name) : [statement.name];
      for (const name of names) if (name && ts.isIdentifier(name)) exported.push(`${path} ${name.text}`);
    }
  }
}
const once = [...new Set(exported)].filter((key) => users.get(key)?.size === 1).length;
console.log(`import lines     ${importLines} of ${code} lines of code, ${((100 * importLines) / code).toFixed(1)} %`);
console.log(`exported names   ${new Set(exported).size}, of which one other file of src alone uses ${once}`);
