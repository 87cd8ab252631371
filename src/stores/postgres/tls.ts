/** TLS as libpq does it: `sslmode` and its files. */
import { access, readFile } from 'node:fs/promises'
import type { ConnectionOptions } from 'node:tls'
import { StoreError } from '../store.ts'

const MODES = ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full'] as const
type TlsMode = (typeof MODES)[number]

/** Stands for the certificate authorities that the system trusts. */
const SYSTEM = 'system'

/** A file that was asked for, or one at its usual place that may be missing. */
interface TlsFile {
  readonly path: string
  readonly optional: boolean
}

export interface TlsSettings {
  readonly mode: TlsMode
  readonly rootCert: TlsFile | typeof SYSTEM | null
  readonly cert: TlsFile | null
  readonly key: TlsFile | null
}

function misconfigured(message: string, cause: unknown = null): StoreError {
  return new StoreError('misconfigured', message, { cause })
}

/** `read` gives a parameter by its libpq name; `home` is where `.postgresql` may lie. */
export function parseTls(read: (name: string) => string | undefined, home: string | null): TlsSettings {
  const file = (name: string, usual: string): TlsFile | null => {
    const path = read(name)
    if (path !== undefined) return { path, optional: false }
    return home === null ? null : { path: `${home}/.postgresql/${usual}`, optional: true }
  }
  const rootCert = read('sslrootcert') === SYSTEM ? SYSTEM : file('sslrootcert', 'root.crt')
  const text = read('sslmode') ?? (rootCert === SYSTEM ? 'verify-full' : 'prefer')
  const mode = MODES.find((one) => one === text)
  if (mode === undefined) throw misconfigured(`sslmode=${text} is not known: use one of ${MODES.join(', ')}`)
  if (rootCert === SYSTEM && mode !== 'verify-full') {
    throw misconfigured(`sslrootcert=system with sslmode=${mode} checks too little: use sslmode=verify-full`)
  }
  return { mode, rootCert, cert: file('sslcert', 'postgresql.crt'), key: file('sslkey', 'postgresql.key') }
}

/**
 * The ways to open one connection, in the order in which they are tried: with TLS or without. Never more than
 * two, and only `allow` and `prefer` have both.
 */
export function encryptions({ mode }: TlsSettings, isUnixSocket: boolean): readonly ('tls' | 'plain')[] {
  if (isUnixSocket || mode === 'disable') return ['plain']
  if (mode === 'allow') return ['plain', 'tls']
  return mode === 'prefer' ? ['tls', 'plain'] : ['tls']
}

/**
 * Options for a TLS connection. Files are read anew each time, so that renewed certificates are taken up.
 *
 * @throws StoreError `misconfigured` where a file is missing.
 */
export async function tlsOptions(settings: TlsSettings): Promise<ConnectionOptions> {
  const { mode, rootCert } = settings
  const ca = rootCert === SYSTEM || rootCert === null ? null : await read(rootCert, 'sslrootcert')
  const verifies = mode === 'verify-ca' || mode === 'verify-full'
  if (verifies && ca === null && rootCert !== SYSTEM) {
    throw misconfigured(
      `sslmode=${mode} needs to know whom to trust: set sslrootcert to a file, or to "system" with sslmode=verify-full`,
    )
  }
  const cert = settings.cert === null ? null : await read(settings.cert, 'sslcert')
  const key = cert === null || settings.key === null ? null : await read(settings.key, 'sslkey')
  return {
    // A root certificate that is there is used by `require` too, as in libpq.
    rejectUnauthorized: verifies || (mode === 'require' && ca !== null),
    ...(mode === 'verify-full' ? {} : { checkServerIdentity: () => undefined }),
    ...(ca === null ? {} : { ca }),
    ...(cert === null ? {} : { cert }),
    ...(key === null ? {} : { key }),
  }
}

async function read(file: TlsFile, parameter: string): Promise<Buffer | null> {
  try {
    if (file.optional) await access(file.path)
  } catch {
    return null
  }
  try {
    return await readFile(file.path)
  } catch (cause) {
    throw misconfigured(`${parameter}: ${file.path} cannot be read: ${(cause as Error).message}`, cause)
  }
}
