import assert from 'node:assert/strict'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { before, describe, it } from 'node:test'
import { stringify } from 'yaml'
import { chartsUnless, FORMS, STORES, type Store, valuesFor } from '../support/helm.ts'
import { startUnless } from '../support/kubernetes/bench.ts'
import { skipReason } from '../support/kubernetes/binaries.ts'
import { deployPath, kubectl, kustomize } from '../support/kubernetes/kubectl.ts'
import {
  type Container,
  type Manifest,
  only,
  parseManifests,
  podOf,
  sidecarOf,
} from '../support/manifests.ts'

const skip = skipReason(['etcd', 'kube-apiserver', 'kubectl', 'helm'])
const bench = await startUnless(skip)
const charts = await chartsUnless(skip)
const NAMESPACES = ['apps', 'example', 'leases']
/** The API server warns of a pod in such a namespace that is not hardened. */
const HARDENED = { labels: { 'pod-security.kubernetes.io/warn': 'restricted' } }

describe('the API server', { skip }, () => {
  let kubeconfig = ''
  let applied = 0

  before(async () => {
    kubeconfig = await bench.adminKubeconfig()
    for (const name of NAMESPACES) {
      const metadata = { name, ...(name === 'apps' && HARDENED) }
      await bench.server.must('POST', '/api/v1/namespaces', { metadata })
      // A controller would make it; no pod is admitted without.
      const account = { metadata: { name: 'default' } }
      await bench.server.must('POST', `/api/v1/namespaces/${name}/serviceaccounts`, account)
    }
  })

  /** Asks the server to judge manifests: unknown fields are errors. Answers what it complained of. */
  async function dryRun(manifests: readonly Manifest[]): Promise<string> {
    applied += 1
    const file = join(bench.server.home, `applied-${applied}.yaml`)
    await writeFile(file, manifests.map((manifest) => stringify(manifest)).join('---\n'))
    const flags = ['--dry-run=server', '--validate=strict', '--filename', file]
    const { code, stdout, stderr } = await kubectl(bench.server.home, ['apply', ...flags], kubeconfig)
    if (code === 0) assert.equal(stdout.trim().split('\n').length, manifests.length, stdout)
    return stderr
  }

  /** As `helm install --namespace` would. */
  const inApps = (manifests: readonly Manifest[]): readonly Manifest[] =>
    manifests.map((one) => ({ ...one, metadata: { namespace: 'apps', ...one.metadata } }))

  for (const store of STORES) {
    for (const form of FORMS) {
      it(`accepts the chart of the application: ${store}, ${form}`, async () => {
        const manifests = await charts.render(valuesFor(store, form))
        assert.equal(await dryRun(inApps(manifests)), '')
      })
    }
  }

  it('accepts Leases that are made beforehand in a namespace of their own', async () => {
    const store = { kind: 'kubernetes', kubernetes: { createLease: false, namespace: 'leases' } }
    const elections = ['Fleet Manager']
    const manifests = await charts.render(valuesFor('kubernetes', 'native', { store, elections }))
    assert.equal(await dryRun(inApps(manifests)), '')
  })

  it('accepts every manifest that we ship', async () => {
    const files = (await readdir(deployPath('kubernetes'))).sort()
    assert.ok(files.length >= 8)
    for (const file of files) {
      const manifests = parseManifests(await readFile(deployPath(`kubernetes/${file}`), 'utf8'))
      assert.equal(await dryRun(manifests), '', file)
    }
  })

  it('accepts what the kustomize components make', async () => {
    for (const name of await readdir(deployPath('kustomize/examples'))) {
      const manifests = await kustomize(bench.server.home, deployPath(`kustomize/examples/${name}`))
      assert.equal(await dryRun(manifests), '', name)
    }
  })

  it('would refuse a container that is not restricted, so that the tests above mean something', async () => {
    const manifests = structuredClone(await charts.render(valuesFor('sqlite', 'native')))
    const [sidecar] = podOf(only(manifests, 'Deployment')).initContainers ?? []
    Object.assign(sidecar?.securityContext ?? {}, { runAsNonRoot: false })
    assert.match(await dryRun(inApps(manifests)), /would violate PodSecurity/)
  })

  it('refuses a field that it does not know, so that the tests above mean something', async () => {
    const manifests = structuredClone(await charts.render(valuesFor('sqlite', 'native')))
    const [sidecar] = podOf(only(manifests, 'Deployment')).initContainers ?? []
    Object.assign(sidecar as object, { restartPolice: 'Always' })
    assert.match(
      await dryRun(inApps(manifests)),
      /unknown field "spec.template.spec.initContainers\[0\].restartPolice"/,
    )
  })

  it('puts renewals at the level of leader elections', async () => {
    const text = await readFile(deployPath('kubernetes/flow-schema.yaml'), 'utf8')
    const [schema] = parseManifests(text) as unknown as [
      { spec: { priorityLevelConfiguration: { name: string }; matchingPrecedence: number } },
    ]
    const flow = '/apis/flowcontrol.apiserver.k8s.io/v1'
    const level = schema.spec.priorityLevelConfiguration.name
    await bench.server.must('GET', `${flow}/prioritylevelconfigurations/${level}`)
    const accounts = (await bench.server.must('GET', `${flow}/flowschemas/service-accounts`)) as typeof schema
    assert.ok(schema.spec.matchingPrecedence < accounts.spec.matchingPrecedence)
  })
})

describe('a manifest that we ship', { skip }, () => {
  /** Without what differs by who wrote it down. */
  function comparable(container: Container): unknown {
    const { lifecycle, ...rest } = container
    return { ...rest, hook: lifecycle?.preStop.exec.command }
  }

  const cases = [
    ['deployment.yaml', 'Deployment', 'kubernetes', 'native'],
    ['deployment-plain.yaml', 'Deployment', 'kubernetes', 'plain'],
    ['statefulset.yaml', 'StatefulSet', 'postgres', 'native'],
  ] as const

  async function fromChart(store: Store, form: 'native' | 'plain') {
    const postgres = { urlSecret: { name: 'fleet-manager-database' } }
    const values = { elections: ['fleet-manager'], store: { kind: store, postgres } }
    const manifests = await charts.render(
      { tenure: { ...values, native: form === 'native' } },
      { namespace: 'example' },
    )
    return podOf(only(manifests, 'Deployment'))
  }

  for (const [file, kind, store, form] of cases) {
    it(`${file} has the sidecar, the volumes and the grace period of the chart`, async () => {
      const manifests = parseManifests(await readFile(deployPath(`kubernetes/${file}`), 'utf8'))
      const pod = podOf(only(manifests, kind))
      const chart = await fromChart(store, form)
      assert.deepEqual(comparable(sidecarOf(pod)), comparable(sidecarOf(chart)))
      assert.deepEqual(
        pod.volumes,
        chart.volumes?.filter(({ name }) => name.startsWith('tenure-')),
      )
      assert.equal(pod.terminationGracePeriodSeconds, chart.terminationGracePeriodSeconds)
      assert.equal(pod.automountServiceAccountToken, false)
    })
  }
})
