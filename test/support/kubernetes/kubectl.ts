/** The real kubectl, which knows nothing of the user's own clusters. */
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Ended } from '../command.ts'
import { run } from '../helm.ts'
import { type Manifest, parseManifests } from '../manifests.ts'
import { requireBinary } from './binaries.ts'

const DEPLOY = fileURLToPath(new URL('../../../deploy/', import.meta.url))

/** Where a file of `deploy` is. */
export function deployPath(path: string): string {
  return join(DEPLOY, path)
}

/** `home`: a folder for what kubectl keeps. Without a kubeconfig there is no cluster. */
export function kubectl(home: string, args: readonly string[], kubeconfig = '/dev/null'): Promise<Ended> {
  const environment = { KUBECONFIG: kubeconfig, HOME: home, KUBECACHEDIR: join(home, 'kubectl') }
  return run(requireBinary('kubectl'), args, environment)
}

/** What `kubectl kustomize` makes of a folder. */
export async function kustomize(home: string, folder: string): Promise<readonly Manifest[]> {
  const { code, stdout, stderr } = await kubectl(home, ['kustomize', folder])
  if (code !== 0) throw new Error(`kubectl kustomize ${folder}: ${stderr}`)
  return parseManifests(stdout)
}
