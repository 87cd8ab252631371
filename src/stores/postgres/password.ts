/** Where the password comes from. It is looked up only when a server asks for it, and anew at each connect. */
import { readFile, stat } from 'node:fs/promises'
import { StoreError, type StoreSettings } from '../store.ts'
import type { Environment, Host, Location } from './location.ts'

/** Others may not read or write the file: libpq's rule. */
const OTHERS_BITS = 0o077

/**
 * Gives the password for one host.
 *
 * @throws StoreError `denied` where the server wants one and none is known, `misconfigured` where its file
 * cannot be read.
 */
export type PasswordFor = (host: Host) => Promise<string>

/** @throws StoreError `misconfigured` where two places name a password. */
export function passwordSource(location: Location, settings: StoreSettings, env: Environment): PasswordFor {
  const places = [
    location.password === null ? null : 'the store URL',
    settings.password === null ? null : 'the password setting',
    settings.passwordFile === null ? null : 'the password file setting',
  ].filter((place) => place !== null)
  if (places.length > 1) {
    throw new StoreError(
      'misconfigured',
      `the password is given twice: by ${places.join(' and by ')}; keep one`,
      {
        cause: null,
      },
    )
  }
  return async (host) => {
    if (settings.passwordFile !== null) return readPasswordFile(settings.passwordFile)
    const password = location.password ?? settings.password ?? env.PGPASSWORD
    return password || (await fromPassfile(location, host)) || noPassword(location)
  }
}

function noPassword(location: Location): never {
  throw new StoreError(
    'denied',
    `the server asks for the password of ${JSON.stringify(location.user)} and none is known: give it by a password file, PGPASSWORD or a ~/.pgpass that nobody else may read`,
    { cause: null },
  )
}

async function readPasswordFile(path: string): Promise<string> {
  try {
    return (await readFile(path, 'utf8')).replace(/\r?\n$/, '')
  } catch (cause) {
    throw new StoreError(
      'misconfigured',
      `the password file ${path} cannot be read: ${(cause as Error).message}`,
      {
        cause,
      },
    )
  }
}

/** Looks the host up in `~/.pgpass`, whose lines are `host:port:database:user:password`; null when not there. */
async function fromPassfile(location: Location, host: Host): Promise<string | null> {
  const { passfile: path } = location
  if (path === null) return null
  let text: string
  try {
    if (((await stat(path)).mode & OTHERS_BITS) !== 0) return null
    text = await readFile(path, 'utf8')
  } catch {
    return null // As with libpq: a file that is not there, or not ours to read, has no password for us.
  }
  const name = host.host.startsWith('/') ? 'localhost' : host.host
  return findPassword(text, [name, String(host.port), location.database, location.user])
}

/** The password of the first line that matches all four fields; `*` matches anything, `\` escapes. */
export function findPassword(text: string, wanted: readonly string[]): string | null {
  for (const line of text.split(/\r?\n/)) {
    if (line.startsWith('#')) continue
    const fields = line.match(/(?:\\.|[^:\\])*(?::|$)/g)?.map((field) => field.replace(/:$/, '')) ?? []
    const password = fields[wanted.length]
    const plain = fields.map((field) => field.replaceAll(/\\(.)/g, '$1'))
    if (password !== undefined && wanted.every((value, i) => fields[i] === '*' || plain[i] === value)) {
      return plain[wanted.length] || null
    }
  }
  return null
}
