/**
 * `npm run build`: everything that runs in production, in one file, `dist/tenure.mjs`.
 *
 * The file holds the parts that esbuild splits the program into, packed, behind a small loader. V8 parses a module
 * as a whole: as one plain bundle, the web framework and the schema library that most sidecars never use would
 * cost each of them 22 MB. Packed, a part costs nothing before it is imported. docs/performance.md has the figures.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { deflateRawSync } from 'node:zlib'
import { buildParts, MAIN_PART } from './bundle/parts.ts'

/** Another path may be given, for a test. */
const OUTPUT = process.argv[2] ?? 'dist/tenure.mjs'

/** Where a packed part stands: how far its begin lies from the end of the file, and how long it is. In bytes. */
type Place = readonly [fromEnd: number, length: number]

/**
 * Keeps the space for young objects at its first megabyte, as little lives long here: 5 MB less in each sidecar.
 * Imports the program, and reads each part from its own file when it is first imported.
 */
function loader(places: Readonly<Record<string, Place>>): string {
  return `#!/usr/bin/env node
import { fstatSync, openSync, readSync } from 'node:fs'
import module from 'node:module'
import { setFlagsFromString } from 'node:v8'
import { inflateRawSync } from 'node:zlib'
if (Number(process.versions.node.split('.')[0]) < 24) {
  process.stderr.write('tenure: needs Node 24 or newer, and this is ' + process.versions.node + ': start it with another node\\n')
  process.exit(2)
}
setFlagsFromString('--semi-space-growth-factor=1')
const places = ${JSON.stringify(places)}
const file = openSync(import.meta.filename, 'r')
const { size } = fstatSync(file)
function read([fromEnd, length]) {
  const packed = Buffer.alloc(length)
  readSync(file, packed, 0, length, size - fromEnd)
  return inflateRawSync(Buffer.from(packed.toString('latin1'), 'base64'))
}
module.registerHooks({
  resolve(specifier, context, next) {
    const inside = specifier.startsWith('tenure:') || context.parentURL?.startsWith('tenure:')
    const name = specifier.replace(/^(tenure:|\\.\\/)/, '')
    if (inside && Object.hasOwn(places, name)) return { url: 'tenure:' + name, format: 'module', shortCircuit: true }
    return next(specifier, context)
  },
  load(url, context, next) {
    if (!url.startsWith('tenure:')) return next(url, context)
    return { format: 'module', source: read(places[url.slice(7)]), shortCircuit: true }
  },
})
await import('tenure:${MAIN_PART}')
`
}

const packed = (await buildParts()).map(({ name, contents }) => ({
  name,
  line: `//${deflateRawSync(contents, { level: 9 }).toString('base64')}\n`,
}))
const places: Record<string, Place> = {}
let fromEnd = 0
for (const { name, line } of packed.toReversed()) {
  fromEnd += line.length
  places[name] = [fromEnd - '//'.length, line.length - '//\n'.length]
}
const output = loader(places) + packed.map(({ line }) => line).join('')
mkdirSync(dirname(OUTPUT), { recursive: true })
writeFileSync(OUTPUT, output, { mode: 0o755 })
process.stdout.write(`${OUTPUT}: ${Math.round(output.length / 1024)} kB, ${packed.length} parts\n`)
