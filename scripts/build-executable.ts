/**
 * `npm run build:executable`: the program and Node in one file, `dist/tenure`, for hosts without Node. It is a copy of
 * the Node that runs this script, with the parts of the bundle as assets (Node's single executable applications).
 */
import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildParts } from './bundle/parts.ts'

/** Another path may be given, for a test. */
const OUTPUT = process.argv[2] ?? 'dist/tenure'
const MAIN = 'scripts/bundle/executable-main.cjs'
/** By these two Node finds what was put into its executable, and whether anything was. */
const RESOURCE = 'NODE_SEA_BLOB'
const FUSE = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2'

if (process.platform !== 'linux') {
  process.stderr.write(
    `build:executable: it is made and tested on Linux, and this is ${process.platform}: use dist/tenure.mjs with Node 24\n`,
  )
  process.exit(1)
}

/** Writes what is to be put into the executable, and returns its path. */
async function makeBlob(folder: string): Promise<string> {
  const assets: Record<string, string> = {}
  for (const { name, contents } of await buildParts()) {
    assets[name] = join(folder, name)
    writeFileSync(assets[name], contents)
  }
  const output = join(folder, 'blob')
  const config = join(folder, 'config.json')
  const how = { main: MAIN, output, assets, disableExperimentalSEAWarning: true }
  writeFileSync(config, JSON.stringify(how))
  execFileSync(process.execPath, ['--experimental-sea-config', config], { stdio: 'pipe' })
  return output
}

/** Copies this Node and puts the blob into the copy. */
function makeExecutable(blob: string, path: string): void {
  const postject = fileURLToPath(import.meta.resolve('postject/dist/cli.js'))
  copyFileSync(process.execPath, path)
  execFileSync(process.execPath, [postject, path, RESOURCE, blob, '--sentinel-fuse', FUSE], { stdio: 'pipe' })
}

const folder = mkdtempSync(join(tmpdir(), 'tenure-executable-'))
// Beside its final place, and renamed: one that is running just now stays whole.
const unfinished = `${OUTPUT}.${process.pid}`
try {
  const blob = await makeBlob(folder)
  mkdirSync(dirname(OUTPUT), { recursive: true })
  makeExecutable(blob, unfinished)
  renameSync(unfinished, OUTPUT)
} finally {
  rmSync(folder, { recursive: true, force: true })
  rmSync(unfinished, { force: true })
}
const megabytes = Math.round(statSync(OUTPUT).size / 2 ** 20)
process.stdout.write(`${OUTPUT}: ${megabytes} MB, Node ${process.versions.node}\n`)
