import assert from 'node:assert/strict'
import { cpSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { VERSION } from '../../src/version.ts'
import { tenure } from '../support/command.ts'
import { chartsUnless, type Store, valuesFor } from '../support/helm.ts'
import { skipReason } from '../support/kubernetes/binaries.ts'
import { deployPath, kubectl, kustomize } from '../support/kubernetes/kubectl.ts'
import { type Manifest, only, podOf, sidecarOf, variablesOf } from '../support/manifests.ts'
import { tempFolder } from '../support/temp.ts'

const skip = skipReason(['kubectl', 'helm'])
const charts = await chartsUnless(skip)
const folder = tempFolder()
after(() => folder.remove())

const example = (name: string) => kustomize(folder.path, deployPath(`kustomize/examples/${name}`))

/** What the sidecar's variables are once the ConfigMap is mixed in. */
function environmentOf(manifests: readonly Manifest[], workload: Manifest): NodeJS.ProcessEnv {
  const container = sidecarOf(podOf(workload))
  const [source] = container.envFrom ?? []
  const settings = only(manifests, 'ConfigMap', source?.configMapRef.name).data
  return { ...settings, ...variablesOf(container), POD_NAME: 'fleet-manager-0' }
}

describe('the kustomize components', { skip }, () => {
  it('on a Deployment: the sidecar is there, its settings are taken, and its Role names the election', async () => {
    const manifests = await example('deployment')
    const workload = only(manifests, 'Deployment', 'fleet-manager')
    const sidecar = podOf(workload).initContainers?.[0]
    assert.equal(sidecar?.name, 'tenure')
    assert.equal(sidecar.restartPolicy, 'Always')
    assert.equal(sidecar.image, 'registry.example/tenure:0.1.0')
    const { code, stdout, stderr } = await tenure(['config', 'print'], environmentOf(manifests, workload))
    assert.equal(code, 0, stderr)
    for (const line of [
      /^store: +"kubernetes:"/m,
      /^ttl: +10s/m,
      /^identity: +"fleet-manager-0"/m,
      /^election: +\["fleet-manager"\]/m,
    ]) {
      assert.match(stdout, line)
    }
    const role = only(manifests, 'Role')
    assert.deepEqual(
      role.rules?.map(({ resourceNames, verbs }) => [resourceNames, verbs]),
      [
        [undefined, ['create']],
        [['fleet-manager'], ['get', 'update', 'watch']],
      ],
    )
    assert.deepEqual(only(manifests, 'RoleBinding').subjects, [
      { kind: 'ServiceAccount', name: 'fleet-manager', namespace: 'example' },
    ])
  })

  it('on a StatefulSet: the sidecar comes before an init container that was there, and volumes stay', async () => {
    const manifests = await example('statefulset')
    const workload = only(manifests, 'StatefulSet')
    assert.equal(sidecarOf(podOf(workload)).image, `tenure:${VERSION}`)
    const { initContainers = [], containers, volumes = [] } = podOf(workload)
    assert.deepEqual(
      initContainers.map(({ name }) => name),
      ['tenure', 'prepare'],
    )
    assert.deepEqual(
      containers.map(({ name, volumeMounts }) => [name, volumeMounts?.map(({ mountPath }) => mountPath)]),
      [['application', ['/data']]],
    )
    assert.deepEqual(new Set(volumes.map(({ name }) => name)), new Set(['data', 'tenure-store']))
    assert.equal(environmentOf(manifests, workload).TENURE_STORE_FILE, '/run/secrets/tenure/url')
  })

  it('a workload without the label is left as it is', async () => {
    const pod = podOf(only(await example('deployment'), 'Deployment', 'website'))
    assert.equal(pod.initContainers, undefined)
    assert.equal(pod.volumes, undefined)
  })

  it('the sidecar is that of the chart, but for where its settings come from', async () => {
    const cases = [
      ['kubernetes', 'deployment', 'Deployment'],
      ['postgres', 'statefulset', 'StatefulSet'],
    ] as const
    for (const [store, name, kind] of cases) {
      const ofChart = await chartSidecar(store)
      const manifests = await example(name)
      const workload = manifests.find(
        (one) => one.kind === kind && one.metadata.labels?.tenure === 'sidecar',
      ) as Manifest
      const { env, envFrom, image, ...ofComponent } = sidecarOf(podOf(workload))
      assert.deepEqual(ofComponent, ofChart)
    }
  })

  it('without the ConfigMap of the settings nothing is rendered on Leases: no election is guessed', async () => {
    cpSync(deployPath('kustomize'), join(folder.path, 'kustomize'), { recursive: true })
    const overlay = join(folder.path, 'kustomize/examples/deployment')
    const components = ['sidecar', 'kubernetes'].map((name) => `../../components/${name}`)
    await writeFile(
      join(overlay, 'kustomization.yaml'),
      JSON.stringify({ resources: ['deployment.yaml'], components }),
    )
    const { code, stderr } = await kubectl(folder.path, ['kustomize', overlay])
    assert.notEqual(code, 0)
    assert.match(stderr, /ConfigMap.*tenure/)
  })
})

async function chartSidecar(store: Store) {
  const pod = podOf(only(await charts.render(valuesFor(store, 'native')), 'Deployment'))
  const { env, image, ...rest } = sidecarOf(pod)
  return rest
}
