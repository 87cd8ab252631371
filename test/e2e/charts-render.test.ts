import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { leaseName } from '../../src/stores/kubernetes/names.ts'
import { VERSION } from '../../src/version.ts'
import { tenure } from '../support/command.ts'
import {
  chartsUnless,
  FORMS,
  type Form,
  STORES,
  type Store,
  type Values,
  valuesFor,
} from '../support/helm.ts'
import { skipReason } from '../support/kubernetes/binaries.ts'
import {
  type Container,
  type Manifest,
  only,
  type PodSpec,
  podOf,
  sidecarOf,
  variablesOf,
} from '../support/manifests.ts'
import { tempFolder } from '../support/temp.ts'

const skip = skipReason(['helm'])
const charts = await chartsUnless(skip)
const TOKEN = '/var/run/secrets/kubernetes.io/serviceaccount'
const ALL = STORES.flatMap((store) => FORMS.map((form): [Store, Form] => [store, form]))

const folder = tempFolder()
after(() => folder.remove())

const rendered = new Map<string, Promise<readonly Manifest[]>>()

/** Rendered once for each set of values. */
function render(store: Store, form: Form, more: Values = {}): Promise<readonly Manifest[]> {
  const key = JSON.stringify([store, form, more])
  const manifests = rendered.get(key) ?? charts.render(valuesFor(store, form, more))
  rendered.set(key, manifests)
  return manifests
}

async function pod(store: Store, form: Form, more: Values = {}): Promise<PodSpec> {
  return podOf(only(await render(store, form, more), 'Deployment'))
}

async function sidecar(store: Store, form: Form, more: Values = {}): Promise<Container> {
  return sidecarOf(await pod(store, form, more))
}

/** What the Secret would be in the pod. */
function storeFile(): string {
  const path = join(folder.path, 'url')
  writeFileSync(path, 'postgres://tenure@database.internal/app')
  return path
}

/** Milliseconds in a hook's `--timeout`. */
function hookMs({ lifecycle }: Container): number {
  return Number(/^(\d+)ms$/.exec(lifecycle?.preStop.exec.command.at(-1) ?? '')?.[1])
}

describe('helm lint', { skip }, () => {
  it('has nothing to warn of, in any chart and with any of the values that we ship', async () => {
    const { code, stdout } = await charts.helm('lint', '--strict', charts.path('tenure'))
    assert.equal(code, 0, stdout)
    const folder = `${charts.path('example-app')}/ci`
    const files = await readdir(folder)
    assert.equal(files.length, 4)
    for (const file of files) {
      const chart = charts.path('example-app')
      const linted = await charts.helm('lint', '--strict', chart, '--values', `${folder}/${file}`)
      assert.equal(linted.code, 0, linted.stdout)
      assert.doesNotMatch(linted.stdout, /WARNING|ERROR/)
    }
  })
})

it('the charts are of this version', { skip }, async () => {
  for (const chart of ['tenure', 'example-app']) {
    const { stdout } = await charts.helm('show', 'chart', charts.path(chart))
    assert.match(stdout, new RegExp(`^appVersion: ${VERSION}$`, 'm'))
  }
})

describe('the chart of the application', { skip }, () => {
  for (const [store, form] of ALL) {
    it(`${store}, ${form}: the sidecar takes every variable that is rendered`, async () => {
      const container = await sidecar(store, form, {
        settings: { ttl: '9s', margin: '1500ms', observer: true },
      })
      const variables = variablesOf(container)
      const environment: NodeJS.ProcessEnv = { ...variables, POD_NAME: 'example-1' }
      if (store === 'postgres') environment.TENURE_STORE_FILE = storeFile()
      const { code, stdout, stderr } = await tenure(['config', 'print'], environment)
      assert.equal(code, 0, stderr)
      for (const line of [
        /^ttl: +9s/m,
        /^margin: +1500ms/m,
        /^observer: +true/m,
        /^identity: +"example-1"/m,
      ]) {
        assert.match(stdout, line)
      }
      assert.deepEqual(container.args, ['run'])
    })

    it(`${store}, ${form}: there is one sidecar, and it is where its form says`, async () => {
      const { initContainers = [], containers } = await pod(store, form)
      assert.deepEqual(
        initContainers.map(({ name, restartPolicy }) => [name, restartPolicy]),
        form === 'native' ? [['tenure', 'Always']] : [],
      )
      assert.deepEqual(
        containers.map(({ name }) => name),
        form === 'native' ? ['application'] : ['application', 'tenure'],
      )
    })

    it(`${store}, ${form}: every container is restricted`, async () => {
      const { initContainers = [], containers } = await pod(store, form)
      for (const { securityContext, terminationMessagePolicy, name } of [...initContainers, ...containers]) {
        assert.deepEqual(securityContext, {
          allowPrivilegeEscalation: false,
          capabilities: { drop: ['ALL'] },
          readOnlyRootFilesystem: true,
          runAsNonRoot: true,
          runAsUser: 65532,
          runAsGroup: 65532,
          seccompProfile: { type: 'RuntimeDefault' },
        })
        if (name === 'tenure') assert.equal(terminationMessagePolicy, 'FallbackToLogsOnError')
      }
    })

    it(`${store}, ${form}: every mount has its volume, and every volume is mounted`, async () => {
      const { initContainers = [], containers, volumes = [] } = await pod(store, form)
      const mounts = [...initContainers, ...containers].flatMap(({ volumeMounts = [] }) => volumeMounts)
      assert.deepEqual(new Set(mounts.map(({ name }) => name)), new Set(volumes.map(({ name }) => name)))
    })

    it(`${store}, ${form}: probes ask the port for outside, and readiness is not who leads`, async () => {
      const { startupProbe, livenessProbe, readinessProbe, ports, env } = await sidecar(store, form)
      assert.equal(startupProbe?.httpGet.path, '/livez')
      assert.equal(livenessProbe?.httpGet.path, '/livez')
      assert.equal(readinessProbe?.httpGet.path, '/readyz')
      for (const probe of [startupProbe, livenessProbe, readinessProbe]) {
        assert.equal(probe?.httpGet.port, ports?.[0]?.name)
      }
      assert.ok(env?.some(({ name, value }) => name === 'TENURE_OPS_LISTEN' && value === '0.0.0.0:4041'))
      assert.equal(ports?.[0]?.containerPort, 4041)
    })
  }

  it('a native sidecar has nothing to drain, a plain one for as long as the application may take', async () => {
    assert.equal(variablesOf(await sidecar('postgres', 'native')).TENURE_DRAIN, '0')
    const plain = await sidecar('postgres', 'plain', { applicationStop: '7s' })
    assert.equal(variablesOf(plain).TENURE_DRAIN, '7s')
    assert.deepEqual(plain.lifecycle?.preStop.exec.command, [
      '/usr/local/bin/node',
      '/app/tenure.mjs',
      'drain',
      '--timeout',
      '9000ms',
    ])
    assert.equal((await sidecar('postgres', 'native')).lifecycle, undefined)
  })

  it('the hook and the end after it always fit into the grace period that is rendered', async () => {
    for (const [drain, graceS] of [
      ['0', 4],
      ['26s', 30],
      ['1.5m', 94],
      ['999ms', 5],
    ] as const) {
      const values = { settings: { drain }, applicationStop: '1ms', terminationGracePeriodSeconds: graceS }
      const spec = await pod('sqlite', 'plain', values)
      assert.ok(hookMs(sidecarOf(spec)) + 2_000 <= (spec.terminationGracePeriodSeconds ?? 0) * 1_000)
    }
  })

  it('secrets are files, and stand in no variable of the sidecar', async () => {
    const { containers, initContainers = [], volumes = [] } = await pod('postgres', 'native')
    const container = sidecarOf({ containers, initContainers })
    assert.equal(variablesOf(container).TENURE_STORE_FILE, '/run/secrets/tenure/url')
    const sources = [{ secret: { name: 'database', items: [{ key: 'url', path: 'url' }] } }]
    assert.deepEqual(
      volumes.find(({ name }) => name === 'tenure-store'),
      { name: 'tenure-store', projected: { sources } },
    )
  })

  it('a URL and a password of its own go together', async () => {
    const postgres = { url: 'postgres://tenure@db/app', passwordSecret: { name: 'pass', key: 'pw' } }
    const manifests = await charts.render({
      application: { urlSecret: { name: 'own' } },
      tenure: { store: { kind: 'postgres', postgres } },
    })
    const spec = podOf(only(manifests, 'Deployment'))
    const variables = variablesOf(sidecarOf(spec))
    assert.equal(variables.TENURE_STORE, 'postgres://tenure@db/app')
    assert.equal(variables.TENURE_STORE_PASSWORD_FILE, '/run/secrets/tenure/password')
    const sources = [{ secret: { name: 'pass', items: [{ key: 'pw', path: 'password' }] } }]
    assert.deepEqual(spec.volumes?.find(({ name }) => name === 'tenure-store')?.projected, { sources })
    const application = spec.containers.find(({ name }) => name === 'application')
    assert.deepEqual(application?.env?.[1]?.valueFrom?.secretKeyRef, { name: 'own', key: 'url' })
  })

  it('the token of the service account is mounted into whom it is meant for, and into nobody on another store', async () => {
    const mounting = async (store: Store) => {
      const { initContainers = [], containers, automountServiceAccountToken } = await pod(store, 'native')
      assert.equal(automountServiceAccountToken, false)
      return [...initContainers, ...containers]
        .filter(({ volumeMounts }) => volumeMounts?.some(({ mountPath }) => mountPath === TOKEN))
        .map(({ name }) => name)
    }
    assert.deepEqual(await mounting('kubernetes'), ['tenure', 'application'])
    assert.deepEqual(await mounting('postgres'), [])
    assert.deepEqual(await mounting('sqlite'), [])
  })

  it('on another store than Kubernetes there is no Role and no Lease', async () => {
    for (const store of ['postgres', 'sqlite'] as const) {
      const kinds = (await render(store, 'native')).map(({ kind }) => kind)
      assert.deepEqual(
        kinds.filter((kind) => ['Role', 'RoleBinding', 'Lease'].includes(kind)),
        [],
      )
    }
  })

  it('the file of SQLite stands in a folder of its own, on the node that is named', async () => {
    const sqlite = { volume: { hostPath: { path: '/srv/lease' } }, node: 'node-1', mountPath: '/data' }
    const spec = await pod('sqlite', 'native', { store: { kind: 'sqlite', sqlite } })
    assert.deepEqual(spec.nodeSelector, { 'kubernetes.io/hostname': 'node-1' })
    assert.equal(variablesOf(sidecarOf(spec)).TENURE_STORE, 'sqlite:/data/lease/tenure.db')
  })

  it('only PostgreSQL has a schema to migrate, before the release', async () => {
    const job = only(await render('postgres', 'native'), 'Job')
    assert.equal(job.metadata.annotations?.['helm.sh/hook'], 'pre-install,pre-upgrade')
    assert.deepEqual(podOf(job).containers[0]?.args, ['migrate'])
    const without = await charts.render({ ...valuesFor('postgres', 'native'), migrate: false })
    assert.equal(without.filter(({ kind }) => kind === 'Job').length, 0)
    const other = await render('sqlite', 'native')
    assert.equal(other.filter(({ kind }) => kind === 'Job').length, 0)
  })

  it('a digest pins the image, and the tag is this version otherwise', async () => {
    assert.equal((await sidecar('sqlite', 'native')).image, `tenure:${VERSION}`)
    const digest = `sha256:${'0a'.repeat(32)}`
    const image = { repository: 'registry.example/tenure', digest }
    assert.equal((await sidecar('sqlite', 'native', { image })).image, `registry.example/tenure@${digest}`)
  })

  it('a large number is not written with an exponent', async () => {
    const settings = { 'generation-floor': 9_007_199_254_740_989 }
    const container = await sidecar('sqlite', 'native', { settings })
    assert.equal(variablesOf(container).TENURE_GENERATION_FLOOR, '9007199254740989')
  })

  it('a Lease is called as the sidecar calls it, whatever the name of the election', async () => {
    const names = [
      'fleet-manager',
      'Fleet Manager',
      'ä.b',
      'a..b',
      `tenure-${'0'.repeat(64)}`,
      'x'.repeat(200),
    ]
    for (const name of names) {
      const manifests = await render('kubernetes', 'native', { elections: [name] })
      const [, rule] = only(manifests, 'Role', 'example-tenure').rules ?? []
      assert.deepEqual(rule?.resourceNames, [leaseName(name)])
    }
  })

  it('Leases made beforehand stay when the release is uninstalled, and nobody may make others', async () => {
    const store = { kind: 'kubernetes', kubernetes: { createLease: false, namespace: 'leases' } }
    const manifests = await render('kubernetes', 'native', { store })
    const lease = only(manifests, 'Lease')
    assert.equal(lease.metadata.name, 'example')
    assert.equal(lease.metadata.namespace, 'leases')
    assert.equal(lease.metadata.annotations?.['helm.sh/resource-policy'], 'keep')
    const role = only(manifests, 'Role', 'example-tenure')
    assert.equal(role.metadata.namespace, 'leases')
    assert.deepEqual(
      role.rules?.map(({ verbs }) => verbs),
      [['get', 'update', 'watch']],
    )
    const [subject] = only(manifests, 'RoleBinding', 'example-tenure').subjects ?? []
    assert.equal(subject?.namespace, 'apps')
  })

  it('an observer may only look', async () => {
    const manifests = await render('kubernetes', 'native', { settings: { observer: true } })
    assert.deepEqual(
      only(manifests, 'Role', 'example-tenure').rules?.map(({ verbs }) => verbs),
      [['get', 'watch']],
    )
  })

  it('the pods of the test and of the budget are those of the Deployment', async () => {
    const manifests = await charts.render({ ...valuesFor('sqlite', 'native'), replicas: 5 })
    const labels = { 'app.kubernetes.io/name': 'example-app', 'app.kubernetes.io/instance': 'example' }
    const selectors = ['Service', 'PodDisruptionBudget'].map((kind) => only(manifests, kind).spec)
    assert.deepEqual(selectors, [
      { ...selectors[0], selector: labels },
      { maxUnavailable: 1, selector: { matchLabels: labels } },
    ])
    const test = only(manifests, 'Pod') as unknown as { spec: PodSpec }
    assert.deepEqual(test.spec.containers[0]?.command?.slice(1), [
      '/example/leaders.mjs',
      '4041',
      '5',
      'example-metrics',
    ])
  })
})
