import { existsSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Environment } from '../../../config/environment.ts'
import { checkPlace, locate } from '../../../stores/sqlite/location.ts'
import { StoreError } from '../../../stores/store.ts'
import { advise, type Check, fault, ok, paste, type Remedy, warning } from '../check.ts'
import { shellWord } from '../quote.ts'

const NAME = 'place'
const RULE = 'leases are kept in a regular file of their own, on a local disk'
const SAME_EVERYWHERE = 'every candidate of the election has to name the same file'
const NAMES_MOST = 100

/** The path that the URL names; null, and why, where it names none. */
export function findPath(
  url: string,
  environment: Environment,
): { readonly path: string | null; readonly checks: readonly Check[] } {
  try {
    return { path: locate(url, environment), checks: [] }
  } catch (error) {
    return { path: null, checks: [misplaced(error, defaultFile())] }
  }
}

/** Whether a file at this path can hold leases at all. */
export function checkPlaceOf(path: string): readonly Check[] {
  const notes: Check[] = []
  try {
    checkPlace(path, (note) => notes.push(warning(NAME, note, RULE, advise('see the sentence above'))))
    return notes.length > 0 ? notes : [ok(NAME, path)]
  } catch (error) {
    return [misplaced(error, elsewhere(path))]
  }
}

function misplaced(error: unknown, remedy: Remedy): Check {
  if (!(error instanceof StoreError)) throw error
  return fault(NAME, error.kind, error.message, RULE, remedy)
}

function elsewhere(path: string): Remedy {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) return inFolder(path)
  return defaultFile()
}

function defaultFile(): Remedy {
  return paste(
    'flags',
    '--store sqlite:',
    `use the default file of this user, or name one on a local disk; ${SAME_EVERYWHERE}`,
  )
}

/** A file beside the one that cannot be used. */
export function anotherFile(path: string): Remedy {
  return inFolder(dirname(path))
}

function inFolder(folder: string): Remedy {
  const path = freeName(folder)
  return paste(
    'flags',
    `--store ${shellWord(`sqlite:${path}`)}`,
    `use a file of Tenure's own; ${SAME_EVERYWHERE}`,
  )
}

function freeName(folder: string): string {
  const first = join(folder, 'tenure.db')
  for (let i = 2; i < NAMES_MOST && existsSync(first); i++) {
    const other = join(folder, `tenure-${i}.db`)
    if (!existsSync(other)) return other
  }
  return first
}
