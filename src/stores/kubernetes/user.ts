/** How the user of a kubeconfig proves who it is. */
import { readFile } from 'node:fs/promises'
import type https from 'node:https'
import type { User } from '@kubernetes/client-node/dist/config_types.js'

interface Credentials {
  /** PEM; null where the user has no certificate. */
  readonly cert: string | null
  readonly key: string | null
  readonly headers: Readonly<Record<string, string>>
}

/** Makes the credentials of a user, at each reading; may keep what it was given until that expires. */
export type Identified = (user: User, tokenFile: string | null) => Promise<Credentials>

/** What the library's authenticators fill in. */
interface Authenticator {
  applyAuthentication(user: User, options: https.RequestOptions): Promise<void>
}

/**
 * Chooses how to identify a user. The programs and libraries of exec and OIDC users are loaded only for them.
 * What this returns keeps tokens until they expire: make it anew when the server refused one.
 */
export function identify(user: User): Identified {
  if (user.exec) return throughLibrary(user, execAuthenticator)
  if (user.authProvider) return throughLibrary(user, () => providerAuthenticator(user))
  return plainCredentials
}

async function plainCredentials(user: User, tokenFile: string | null): Promise<Credentials> {
  const [cert, key, fileToken] = await Promise.all([
    readOr(user.certFile, user.certData),
    readOr(user.keyFile, user.keyData),
    tokenFile === null ? null : readFile(tokenFile, 'utf8'),
  ])
  // While it is being replaced it may be empty for a moment. Without a token we would be somebody else: nobody.
  if (fileToken?.trim() === '') throw new Error(`the token file ${tokenFile} is empty`)
  const token = (fileToken ?? user.token ?? '').trim()
  const headers: Record<string, string> = { ...impersonation(user) }
  if (token !== '') headers.authorization = `Bearer ${token}`
  else if (user.username) headers.authorization = basic(user.username, user.password ?? '')
  return { cert, key, headers }
}

/** The library keeps the tokens that it renews in `kept`, so it is given the same user each time. */
function throughLibrary(kept: User, load: () => Promise<Authenticator>): Identified {
  let loading: Promise<Authenticator> | null = null
  return async (user, tokenFile) => {
    loading ??= load()
    const options: https.RequestOptions = { headers: {} }
    const [plain, authenticator] = await Promise.all([plainCredentials(user, tokenFile), loading])
    try {
      await authenticator.applyAuthentication(kept, options)
      if (!hasProof(options)) throw new Error('it gave neither a token nor a certificate')
    } catch (error) {
      // The authenticator may have kept what was no good: the next attempt begins with a new one.
      loading = null
      throw new Error(`${sourceOf(kept)}: ${error instanceof Error ? error.message.trim() : String(error)}`, {
        cause: error,
      })
    }
    const given = Object.entries((options.headers ?? {}) as Record<string, unknown>)
    const headers = given.map(([name, value]) => [name.toLowerCase(), String(value)])
    return {
      cert: pem(options.cert) ?? plain.cert,
      key: pem(options.key) ?? plain.key,
      headers: { ...plain.headers, ...Object.fromEntries(headers) },
    }
  }
}

function hasProof({ headers, cert }: https.RequestOptions): boolean {
  const names = Object.keys(headers ?? {}).map((name) => name.toLowerCase())
  return cert !== undefined || names.includes('authorization')
}

/** Who is to give the credentials, for people. */
function sourceOf({ name, exec, authProvider }: User): string {
  if (exec) return `the program ${exec.command} of the user ${name}`
  return `the auth-provider ${authProvider?.name} of the user ${name}`
}

async function execAuthenticator(): Promise<Authenticator> {
  const { ExecAuth } = await import('@kubernetes/client-node/dist/exec_auth.js')
  return new ExecAuth()
}

/** OIDC and the providers of old: the library's whole configuration knows them. */
async function providerAuthenticator({ authProvider }: User): Promise<Authenticator> {
  if (authProvider.name === 'oidc') {
    const { OpenIDConnectAuth } = await import('@kubernetes/client-node/dist/oidc_auth.js')
    return new OpenIDConnectAuth()
  }
  throw new Error(`the auth-provider ${authProvider.name} is not supported: use exec or oidc`)
}

/** Base64 data, or else a file, as text; null where neither is given. */
export async function readOr(file: string | undefined, data: string | undefined): Promise<string | null> {
  if (data) return Buffer.from(data, 'base64').toString('utf8')
  return file ? readFile(file, 'utf8') : null
}

function impersonation({ impersonateUser }: User): Record<string, string> {
  return impersonateUser ? { 'impersonate-user': impersonateUser } : {}
}

function basic(username: string, password: string): string {
  return `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`
}

function pem(value: unknown): string | null {
  return typeof value === 'string' || value instanceof Uint8Array ? Buffer.from(value).toString('utf8') : null
}
