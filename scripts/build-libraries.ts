/**
 * `npm run build:libraries`: what applications import, `tenure/fencing` and its siblings, as JavaScript and declarations.
 * The package's `exports` say which there are. Another folder than `dist` may be given, for a test.
 */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'esbuild'

const OUTPUT = process.argv[2] ?? 'dist'
const { exports } = JSON.parse(readFileSync('package.json', 'utf8'))
const names = Object.keys(exports)
  .filter((path) => exports[path].types !== undefined)
  .map((path) => path.replace('./', ''))

await build({
  entryPoints: names.map((name) => ({ in: `src/${name}/index.ts`, out: name })),
  outdir: join(OUTPUT, 'lib'),
  bundle: true,
  splitting: true,
  platform: 'node',
  format: 'esm',
  target: 'node24',
  chunkNames: 'shared-[hash]',
  logLevel: 'warning',
})
const compiler = join('node_modules', 'typescript', 'bin', 'tsc')
const types = ['-p', 'tsconfig.libraries.json', '--outDir', join(OUTPUT, 'types')]
execFileSync(process.execPath, [compiler, ...types], { stdio: 'inherit' })
process.stdout.write(`${OUTPUT}/lib: ${names.join(', ')}\n`)
