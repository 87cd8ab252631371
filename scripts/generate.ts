/**
 * `npm run gen` writes the files that are made from the code; `npm run gen:check` fails when one of them is not
 * what the code says today.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { configSchema } from '../src/config/schema.ts'
import { openApiDocument } from '../src/http/openapi.ts'
import { deployFiles } from '../src/stores/postgres/migrate.ts'
import { VERSION } from '../src/version.ts'
import { chartReadmes } from './chart-readme.ts'
import { metricsReference } from './metrics-reference.ts'
import { monitoringFiles } from './monitoring-files.ts'

const json = (document: unknown): string => `${JSON.stringify(document, null, 2)}\n`

const FILES: Readonly<Record<string, () => string>> = {
  'docs/openapi.json': () => json(openApiDocument(VERSION)),
  'docs/config.schema.json': () => json(configSchema()),
  ...Object.fromEntries([...deployFiles()].map(([name, text]) => [`deploy/postgres/${name}`, () => text])),
  'docs/metrics.md': metricsReference,
  ...Object.fromEntries([...monitoringFiles()].map(([path, text]) => [path, () => text])),
  ...Object.fromEntries([...chartReadmes()].map(([path, text]) => [path, () => text])),
}

function present(path: string): string | null {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return null
  }
}

const check = process.argv.includes('--check')
for (const [path, make] of Object.entries(FILES)) {
  const made = make()
  if (present(path) === made) continue
  if (check) {
    process.stderr.write(`${path} is not what the code says: run "npm run gen"\n`)
    process.exitCode = 1
  } else {
    writeFileSync(path, made)
    process.stdout.write(`${path} written\n`)
  }
}
