/** The configuration that Kubernetes gives to every pod: a service account's token, a CA and a namespace in files. */
import { readFile } from 'node:fs/promises'
import { isIPv6 } from 'node:net'
import { join } from 'node:path'
import { StoreError } from '../store.ts'
import type { Access, AccessSource } from './access.ts'

const SERVICE_ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount'

export type Environment = Readonly<Record<string, string | undefined>>

/** Whether we run in a pod. */
export function isInCluster(environment: Environment): boolean {
  return (environment.KUBERNETES_SERVICE_HOST ?? '') !== ''
}

/** @throws StoreError `misconfigured` where the files are missing. */
export async function inClusterSource(
  environment: Environment,
  folder = SERVICE_ACCOUNT,
): Promise<AccessSource> {
  const host = environment.KUBERNETES_SERVICE_HOST ?? ''
  const port = environment.KUBERNETES_SERVICE_PORT ?? '443'
  const server = new URL(`https://${isIPv6(host) ? `[${host}]` : host}:${port}`)
  const source: AccessSource = {
    name: 'in-cluster',
    server,
    namespace: await readNamespace(join(folder, 'namespace')),
    read: () => readFiles(server, folder),
  }
  await source.read(false).catch((cause: Error) => {
    throw new StoreError(
      'misconfigured',
      `Kubernetes: this pod has no service account to act as (${cause.message}): give it one, and do not set automountServiceAccountToken: false`,
      { cause },
    )
  })
  return source
}

async function readNamespace(path: string): Promise<string | null> {
  try {
    return (await readFile(path, 'utf8')).trim() || null
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}

async function readFiles(server: URL, folder: string): Promise<Access> {
  const [token, ca] = await Promise.all([
    readFile(join(folder, 'token'), 'utf8'),
    readFile(join(folder, 'ca.crt'), 'utf8'),
  ])
  if (token.trim() === '') throw new Error(`${join(folder, 'token')} is empty`)
  return {
    server,
    tls: { ca, cert: null, key: null, serverName: null, verify: true },
    headers: { authorization: `Bearer ${token.trim()}` },
  }
}
