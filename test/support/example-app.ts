/** The example application as the chart renders it, set up on this machine beside real sidecars. */
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { type ContainerProcess, mountScripts, startContainer } from './container.ts'
import { type Charts, type Store, valuesFor } from './helm.ts'
import type { KubernetesBench } from './kubernetes/bench.ts'
import { type Container, type Manifest, only, podOf } from './manifests.ts'
import { type SidecarProcess, sidecar, until } from './sidecar.ts'

/** One line of the application. */
export interface Said {
  readonly generation?: number
  readonly value?: number
  readonly stale?: boolean
  readonly error?: string
}

/** What a store needs so that the rendered application runs here. */
export interface Setting {
  readonly manifests: readonly Manifest[]
  readonly scripts: string
  /** Of the application. */
  readonly environment: NodeJS.ProcessEnv
  readonly sidecarArgs: readonly string[]
  readonly sidecarEnvironment: NodeJS.ProcessEnv
}

export function said({ lines }: ContainerProcess): readonly Said[] {
  return lines.map((line) => JSON.parse(line) as Said)
}

function applicationOf(manifests: readonly Manifest[]): Container {
  const pod = podOf(only(manifests, 'Deployment'))
  const found = pod.containers.find(({ name }) => name === 'application')
  assert.ok(found !== undefined)
  return found
}

/** Renders the chart for a store, with its scripts in a folder below `home`. */
async function rendered(charts: Charts, home: string, store: Store, namespace?: string) {
  const manifests = await charts.render(
    valuesFor(store, 'native'),
    namespace === undefined ? {} : { namespace },
  )
  return { manifests, scripts: mountScripts(home, manifests) }
}

export async function onSqlite(charts: Charts, home: string): Promise<Setting> {
  const place = await rendered(charts, home, 'sqlite')
  const sidecarArgs = ['--store', `sqlite:${join(place.scripts, 'lease/tenure.db')}`, '--ttl', '2s']
  const environment = { DATA_FILE: join(place.scripts, 'data/counter.db') }
  return { ...place, environment, sidecarArgs, sidecarEnvironment: {} }
}

/** `url`: of a migrated database. */
export async function onPostgres(charts: Charts, home: string, url: string): Promise<Setting> {
  const place = await rendered(charts, home, 'postgres')
  const sidecarArgs = ['--store', url, '--ttl', '3s']
  return { ...place, environment: { DATABASE_URL: url }, sidecarArgs, sidecarEnvironment: {} }
}

/** Installs the rendered rights, and puts a token where the projected volume would. */
export async function onKubernetes(charts: Charts, home: string, cluster: KubernetesBench): Promise<Setting> {
  const { server, namespace } = cluster
  const { manifests, scripts } = await rendered(charts, home, 'kubernetes', namespace.name)
  const rbac = `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace.name}`
  const core = `/api/v1/namespaces/${namespace.name}`
  await server.must('POST', `${core}/serviceaccounts`, only(manifests, 'ServiceAccount'))
  await server.must('POST', `${core}/configmaps`, only(manifests, 'ConfigMap', 'example-state'))
  for (const name of ['example-tenure', 'example-state']) {
    await server.must('POST', `${rbac}/roles`, only(manifests, 'Role', name))
    await server.must('POST', `${rbac}/rolebindings`, only(manifests, 'RoleBinding', name))
  }
  await writeFile(join(scripts, 'token'), (await namespace.createToken('example')).token)
  await writeFile(join(scripts, 'ca.crt'), await server.ca())
  const environment = {
    KUBERNETES_SERVICE_HOST: '127.0.0.1',
    KUBERNETES_SERVICE_PORT: String(server.port),
    SERVICE_ACCOUNT: scripts,
    NODE_EXTRA_CA_CERTS: join(scripts, 'ca.crt'),
  }
  const sidecarArgs = ['--store', `kubernetes://${namespace.name}`, '--ttl', '3s']
  const sidecarEnvironment = { KUBECONFIG: await namespace.kubeconfig('example') }
  return { manifests, scripts, environment, sidecarArgs, sidecarEnvironment }
}

export function startApplication(t: TestContext, setting: Setting, address: string): ContainerProcess {
  const environment = { ...setting.environment, SIDECAR: `http://${address}` }
  return startContainer(t, applicationOf(setting.manifests), { scripts: setting.scripts, environment })
}

export async function startPod(
  t: TestContext,
  identity: string,
  setting: Setting,
  more: readonly string[] = [],
) {
  const args = [...setting.sidecarArgs, '--election', 'example', ...more]
  const beside = await sidecar(t, identity, args, { environment: setting.sidecarEnvironment })
  return { beside, application: startApplication(t, setting, `127.0.0.1:${beside.port}`) }
}

/** Ends a pod as the kubelet ends one with a native sidecar. */
export async function endPod({
  beside,
  application,
}: {
  beside: SidecarProcess
  application: ContainerProcess
}) {
  application.child.kill('SIGTERM')
  assert.equal(await application.exited(), 0, application.stderr)
  beside.kill('SIGTERM')
  assert.equal(await beside.exited(), 0)
}

export function writes(container: ContainerProcess, atLeast: number): Promise<readonly Said[]> {
  return until(`${atLeast} writes (${container.stderr})`, () => {
    const lines = said(container)
    return lines.filter(({ value }) => value !== undefined).length >= atLeast ? lines : null
  })
}
