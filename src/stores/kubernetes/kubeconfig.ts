/** The configuration of kubectl: files that name clusters, users, and contexts that join the two. */
import { readFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { delimiter, dirname, isAbsolute, join } from 'node:path'
import {
  type Cluster,
  type Context,
  newClusters,
  newContexts,
  newUsers,
  type User,
} from '@kubernetes/client-node/dist/config_types.js'
import { parse } from 'yaml'
import { StoreError } from '../store.ts'
import type { Access, AccessSource } from './access.ts'
import type { Environment } from './in-cluster.ts'
import { type Identified, identify, readOr } from './user.ts'

/** What a context comes to. */
interface Selected {
  readonly context: Context
  readonly cluster: Cluster
  readonly user: User
  /** `tokenFile` of the user, which the library does not read. */
  readonly tokenFile: string | null
  readonly server: URL
}

interface File {
  readonly path: string
  readonly clusters: readonly Cluster[]
  readonly users: readonly User[]
  readonly contexts: readonly Context[]
  readonly tokenFiles: ReadonlyMap<string, string>
  readonly currentContext: string | null
}

/** The files of KUBECONFIG, or `~/.kube/config`. */
export function kubeconfigPaths(environment: Environment): readonly string[] {
  const given = (environment.KUBECONFIG ?? '').split(delimiter).filter((path) => path !== '')
  return given.length > 0 ? given : [join(environment.HOME || homedir(), '.kube', 'config')]
}

/**
 * Reads the files; `contextName` null means the current context.
 *
 * @throws StoreError `misconfigured`
 */
export async function kubeconfigSource(
  paths: readonly string[],
  contextName: string | null,
): Promise<AccessSource> {
  const select = () => selectFrom(paths, contextName)
  const { context, cluster, server } = await select().catch((cause: Error) => {
    throw misconfigured(
      `the kubeconfig ${paths.join(delimiter)} cannot be used: ${cause.message}`,
      'set KUBECONFIG to a kubeconfig, name a context of it with ?context=, or run in a pod',
      cause,
    )
  })
  if (cluster.proxyUrl) {
    throw misconfigured(
      `the cluster ${cluster.name} is reached through the proxy-url ${cluster.proxyUrl}, which is not supported`,
      'name a context that reaches the API server directly',
      null,
    )
  }
  let identified: Identified | null = null
  return {
    name: `context ${context.name}`,
    server,
    namespace: context.namespace ?? null,
    read: async (renew) => {
      const selected = await select()
      if (identified === null || renew) identified = identify(selected.user)
      return access(selected, identified)
    },
  }
}

async function access(
  { cluster, user, tokenFile, server }: Selected,
  identified: Identified,
): Promise<Access> {
  const [ca, credentials] = await Promise.all([
    readOr(cluster.caFile, cluster.caData),
    identified(user, tokenFile),
  ])
  const { cert, key, headers } = credentials
  return {
    server,
    tls: { ca, cert, key, serverName: cluster.tlsServerName ?? null, verify: !cluster.skipTLSVerify },
    headers,
  }
}

/** As kubectl joins several files: the first to define a name, or the current context, wins. */
async function selectFrom(paths: readonly string[], contextName: string | null): Promise<Selected> {
  const files: File[] = []
  for (const path of paths) files.push(await readKubeconfig(path))
  const name = contextName ?? files.find((file) => file.currentContext !== null)?.currentContext ?? null
  if (name === null) throw new Error('there is no current-context')
  const context = find(files, name, 'context', (file) => file.contexts)
  const cluster = find(files, context.cluster, 'cluster', (file) => file.clusters)
  const user = find(files, context.user, 'user', (file) => file.users)
  const tokenFile = files.find((file) => file.users.includes(user))?.tokenFiles.get(user.name) ?? null
  return { context, cluster, user, tokenFile, server: parseServer(cluster) }
}

function find<T extends { readonly name: string }>(
  files: readonly File[],
  name: string,
  what: string,
  list: (file: File) => readonly T[],
): T {
  for (const file of files) {
    const found = list(file).find((one) => one.name === name)
    if (found !== undefined) return found
  }
  throw new Error(`there is no ${what} ${JSON.stringify(name)}`)
}

function parseServer({ name, server }: Cluster): URL {
  const url = URL.canParse(server) ? new URL(server) : null
  if (url === null || (url.protocol !== 'https:' && url.protocol !== 'http:')) {
    throw new Error(`the server of the cluster ${name} is no http URL: ${server}`)
  }
  return url
}

interface RawKubeconfig {
  readonly clusters?: unknown
  readonly users?: unknown
  readonly contexts?: unknown
  readonly 'current-context'?: unknown
}

async function readKubeconfig(path: string): Promise<File> {
  const raw = (parse(await readFile(path, 'utf8')) ?? {}) as RawKubeconfig
  const beside = (file: string) => (isAbsolute(file) ? file : join(dirname(path), file))
  const absolute = (file: string | undefined) => (file ? beside(file) : undefined)
  const current = raw['current-context']
  const users = newUsers(withoutTokenFiles(raw.users))
  return {
    path,
    clusters: newClusters(raw.clusters).map((cluster) =>
      withFiles(cluster, { caFile: absolute(cluster.caFile) }),
    ),
    users: users.map((user) =>
      withFiles(user, { certFile: absolute(user.certFile), keyFile: absolute(user.keyFile) }),
    ),
    contexts: newContexts(raw.contexts),
    tokenFiles: new Map(tokenFilesOf(raw.users).map(([name, file]) => [name, beside(file)])),
    currentContext: typeof current === 'string' && current !== '' ? current : null,
  }
}

function withFiles<T extends object>(object: T, files: { readonly [K in keyof T]?: T[K] | undefined }): T {
  const given = Object.entries(files).filter(([, file]) => file !== undefined)
  return { ...object, ...Object.fromEntries(given) }
}

interface RawUser {
  readonly name?: unknown
  readonly user?: { readonly tokenFile?: unknown } & Record<string, unknown>
}

function rawUsers(users: unknown): readonly RawUser[] {
  return Array.isArray(users) ? users : []
}

/** Token files are read by us, at each reading, and not once by the library. */
function withoutTokenFiles(users: unknown): unknown {
  return rawUsers(users).map((one) => ({ ...one, user: { ...one.user, 'token-file': undefined } }))
}

function tokenFilesOf(users: unknown): [string, string][] {
  return rawUsers(users).flatMap(({ name, user }) =>
    typeof name === 'string' && typeof user?.tokenFile === 'string' ? [[name, user.tokenFile]] : [],
  )
}

function misconfigured(rule: string, remedy: string, cause: unknown): StoreError {
  return new StoreError('misconfigured', `Kubernetes: ${rule}: ${remedy}`, { cause })
}
