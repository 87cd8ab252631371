/** A release on a real API server: what installing, upgrading, rolling back and uninstalling do to what is kept. */
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { chartsUnless, type Values, valuesFor } from '../support/helm.ts'
import { startUnless } from '../support/kubernetes/bench.ts'
import { skipReason } from '../support/kubernetes/binaries.ts'
import { Namespace } from '../support/kubernetes/namespace.ts'
import { type Manifest, podOf, sidecarOf, variablesOf } from '../support/manifests.ts'

const skip = skipReason(['etcd', 'kube-apiserver', 'helm'])
const bench = await startUnless(skip)
const charts = await chartsUnless(skip)
const NAME = 'example'
const HELD = { holderIdentity: 'example-1_session', leaseTransitions: 7, leaseDurationSeconds: 15 }
const STATE = { generation: '7', value: '41' }

/** One release, in a namespace of its own. */
class Release {
  readonly #namespace: Namespace
  readonly #kubeconfig: string

  constructor(namespace: Namespace, kubeconfig: string) {
    this.#namespace = namespace
    this.#kubeconfig = kubeconfig
  }

  /** Runs a command of helm on the release; it has to succeed. */
  async helm(command: string, ...args: readonly string[]): Promise<void> {
    const where = ['--namespace', this.#namespace.name, '--kubeconfig', this.#kubeconfig]
    const { code, stderr } = await charts.helm(command, NAME, ...args, ...where)
    assert.equal(code, 0, `helm ${command}: ${stderr}`)
  }

  async put(command: 'install' | 'upgrade', more: Values): Promise<void> {
    const store = { kind: 'kubernetes', kubernetes: { createLease: false } }
    const file = await charts.valuesFile(valuesFor('kubernetes', 'native', { store, ...more }))
    await this.helm(command, charts.path('example-app'), '--values', file)
  }

  async status(path: string): Promise<number> {
    return (await bench.server.request('GET', this.#path(path))).status
  }

  async get(path: string): Promise<Manifest> {
    return (await bench.server.must('GET', this.#path(path))) as Manifest
  }

  async patch(path: string, patch: unknown): Promise<void> {
    await bench.server.must('PATCH', this.#path(path), patch)
  }

  async ttl(): Promise<string | undefined> {
    return variablesOf(sidecarOf(podOf(await this.get(DEPLOYMENT)))).TENURE_TTL
  }

  #path(path: string): string {
    return path.replace('NS', this.#namespace.name)
  }
}

const LEASE = `/apis/coordination.k8s.io/v1/namespaces/NS/leases/${NAME}`
const CONFIG = `/api/v1/namespaces/NS/configmaps/${NAME}-state`
const DEPLOYMENT = `/apis/apps/v1/namespaces/NS/deployments/${NAME}`

it('a release that is upgraded, rolled back and uninstalled leaves the Lease and what was written alone', {
  skip,
}, async () => {
  const release = new Release(await Namespace.create(bench.server), await bench.adminKubeconfig())
  await release.put('install', { settings: { ttl: '15s' } })
  await release.patch(LEASE, { spec: HELD })
  await release.patch(CONFIG, { data: STATE })
  const kept = async () => {
    assert.deepEqual((await release.get(LEASE)).spec, HELD)
    assert.deepEqual((await release.get(CONFIG)).data, STATE)
  }

  await release.put('upgrade', { settings: { ttl: '20s' } })
  assert.equal(await release.ttl(), '20s')
  await kept()

  await release.helm('rollback', '1')
  assert.equal(await release.ttl(), '15s')
  await kept()

  await release.helm('uninstall')
  assert.equal(await release.status(DEPLOYMENT), 404)
  assert.deepEqual((await release.get(LEASE)).spec, HELD)

  await release.put('install', { settings: { ttl: '15s' } })
  assert.deepEqual((await release.get(LEASE)).spec, HELD)
})
