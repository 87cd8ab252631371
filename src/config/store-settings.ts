import type { StoreSettings } from '../stores/store.ts'
import type { Merged } from './merge.ts'
import { DEFAULT } from './origin.ts'
import type { SettingName } from './settings.ts'
import { messageOf, readTextFile } from './text-file.ts'

const STORE_URL_MOST_BYTES = 8 * 1024

const RANKS = ['flag', 'variable', 'file']

/** A secret and the file that holds it are two ways to say one thing: the nearer source wins, a tie is a fault. */
function chooseTwin(
  merged: Merged,
  name: SettingName,
  fileName: 'store-file' | 'store-password-file',
): 'value' | 'file' {
  if (merged.value(fileName) === null) return 'value'
  if (!merged.isSet(name)) return 'file'
  const [direct, file] = [merged.origin(name), merged.origin(fileName)]
  const difference = RANKS.indexOf(direct?.kind ?? '') - RANKS.indexOf(file?.kind ?? '')
  if (difference === 0) {
    merged.fault(`${direct?.text} and ${file?.text}`, 'both say the same thing', 'remove one of them')
  }
  return difference <= 0 ? 'value' : 'file'
}

/** Reads the file that holds the store URL, where one is named. */
export function resolveStoreUrl(merged: Merged): void {
  if (chooseTwin(merged, 'store', 'store-file') === 'value') return
  const path = merged.value('store-file')
  const origin = merged.origin('store-file') ?? DEFAULT
  if (path === null) return
  try {
    const text = readTextFile(path, STORE_URL_MOST_BYTES).trim()
    merged.replace('store', { text, origin })
  } catch (error) {
    merged.fault(
      origin.text,
      `the file ${JSON.stringify(path)} cannot be read: ${messageOf(error)}`,
      'correct the path or its rights',
    )
  }
}

/** How to reach the store; null where its URL could not be read. */
export function readStore(merged: Merged): StoreSettings | null {
  const which = chooseTwin(merged, 'store-password', 'store-password-file')
  const url = merged.value('store')
  const password = merged.value('store-password')
  const passwordFile = merged.value('store-password-file')
  if (url === null) return null
  return {
    url,
    password: which === 'value' ? password : null,
    passwordFile: which === 'file' ? passwordFile : null,
  }
}
