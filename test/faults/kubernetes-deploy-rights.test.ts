/** Sidecars under the Role that the chart renders: it is enough, and each of its verbs is needed. */
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { chartsUnless, type Values, valuesFor } from '../support/helm.ts'
import { startUnless } from '../support/kubernetes/bench.ts'
import { skipReason } from '../support/kubernetes/binaries.ts'
import { Namespace } from '../support/kubernetes/namespace.ts'
import { only, type PolicyRule, podOf, sidecarOf, variablesOf } from '../support/manifests.ts'
import { type SidecarProcess, sidecar, until } from '../support/sidecar.ts'

const skip = skipReason(['etcd', 'kube-apiserver', 'helm'])
const bench = await startUnless(skip)
const charts = await chartsUnless(skip)
/** What the chart calls its release, its election and its service account here. */
const NAME = 'example'
const RBAC = '/apis/rbac.authorization.k8s.io/v1/namespaces'
const LEASES = '/apis/coordination.k8s.io/v1/namespaces'
const BEFOREHAND = { store: { kind: 'kubernetes', kubernetes: { createLease: false } } }
const OBSERVER = { settings: { ttl: '3s', observer: true } }

interface Installed {
  readonly namespace: Namespace
  /** That of the rendered sidecar, with a kubeconfig in place of the mounted token. */
  readonly environment: NodeJS.ProcessEnv
}

/** Installs the rendered rights in a namespace of their own, less one verb, and waits until they count. */
async function install(values: Values, without?: string): Promise<Installed> {
  const namespace = await Namespace.create(bench.server)
  const chosen = valuesFor('kubernetes', 'native', { settings: { ttl: '3s' }, ...values })
  const manifests = await charts.render(chosen, { namespace: namespace.name })
  const role = only(manifests, 'Role', 'example-tenure')
  const rules = (role.rules ?? []).flatMap((rule) => withoutVerb(rule, without))
  const { name } = namespace
  await bench.server.must(
    'POST',
    `/api/v1/namespaces/${name}/serviceaccounts`,
    only(manifests, 'ServiceAccount'),
  )
  await bench.server.must('POST', `${RBAC}/${name}/roles`, { ...role, rules })
  await bench.server.must(
    'POST',
    `${RBAC}/${name}/rolebindings`,
    only(manifests, 'RoleBinding', 'example-tenure'),
  )
  for (const lease of manifests.filter(({ kind }) => kind === 'Lease')) {
    await bench.server.must('POST', `${LEASES}/${name}/leases`, lease)
  }
  await counts(namespace, rules)
  const container = sidecarOf(podOf(only(manifests, 'Deployment')))
  const KUBECONFIG = await namespace.kubeconfig(NAME)
  return { namespace, environment: { ...variablesOf(container), KUBECONFIG } }
}

function withoutVerb(rule: PolicyRule, verb: string | undefined): readonly PolicyRule[] {
  const verbs = rule.verbs.filter((one) => one !== verb)
  return verbs.length === 0 ? [] : [{ ...rule, verbs }]
}

/** Rights count a moment after they were written. */
async function counts({ name: namespace }: Namespace, rules: readonly PolicyRule[]): Promise<void> {
  const resourceAttributes = {
    ...{ namespace, group: 'coordination.k8s.io', resource: 'leases', name: NAME },
    verb: rules.at(-1)?.verbs[0],
  }
  const spec = { user: `system:serviceaccount:${namespace}:${NAME}`, resourceAttributes }
  await until('the rights count', async () => {
    const path = '/apis/authorization.k8s.io/v1/subjectaccessreviews'
    const { status } = (await bench.server.must('POST', path, { spec })) as { status: { allowed: boolean } }
    return status.allowed ? true : null
  })
}

/** A sidecar as the pod would run it, but for its ports. */
function run(t: TestContext, identity: string, { environment }: Installed): Promise<SidecarProcess> {
  const flags = ['--ops-listen', '127.0.0.1:0', '--log-level', 'debug']
  return sidecar(t, identity, flags, { environment })
}

/** What it said of its store. */
function complaints({ log }: SidecarProcess): readonly string[] {
  return log.flatMap(({ event, detail }) => (/^store_/.test(event) ? [`${event}: ${detail ?? ''}`] : []))
}

async function deniedFor(one: SidecarProcess, verb: string): Promise<void> {
  const message = await until(`${one.identity} is denied ${verb}`, async () => {
    const error = (await one.report())?.store.error ?? null
    return error?.kind === 'denied' && error.message.includes(`verbs: ["${verb}"]`) ? error.message : null
  })
  assert.match(message, /add the rule/)
}

async function renewed({ namespace }: Installed): Promise<void> {
  const renewTime = async () => (await namespace.lease(NAME))?.spec.renewTime
  const first = await renewTime()
  await until('a renewal', async () => ((await renewTime()) === first ? null : true))
}

describe('the Role of the chart', { skip }, () => {
  for (const [what, values] of [
    ['where sidecars create the Lease', {}],
    ['where it is made beforehand', BEFOREHAND],
  ] as const) {
    it(`${what}: is enough to acquire, to renew, to be woken and to release`, async (t) => {
      const installed = await install(values)
      const one = await run(t, 'one', installed)
      const { generation } = await one.leads()
      const other = await run(t, 'other', installed)
      await renewed(installed)
      one.kill('SIGTERM')
      assert.equal(await one.exited(), 0)
      const next = await other.leads()
      assert.ok((next.generation ?? 0) > (generation ?? 0))
      other.kill('SIGTERM')
      assert.equal(await other.exited(), 0)
      assert.equal((await installed.namespace.lease(NAME))?.spec.holderIdentity, '')
      assert.deepEqual([...complaints(one), ...complaints(other)], [])
    })
  }

  it('to an observer is enough to look and to be woken', async (t) => {
    const installed = await install(OBSERVER)
    const observer = await run(t, 'observer', installed)
    await installed.namespace.createLease(NAME, { holderIdentity: 'somebody', leaseDurationSeconds: 60 })
    await until('the holder is seen', async () =>
      (await observer.report())?.current?.holder === 'somebody' ? true : null,
    )
    assert.deepEqual(complaints(observer), [])
  })

  it('without create no Lease is made', async (t) => {
    const one = await run(t, 'one', await install({}, 'create'))
    await deniedFor(one, 'create')
    assert.equal((await one.leadership())?.leading, false)
  })

  it('without get nobody leads', async (t) => {
    const one = await run(t, 'one', await install({}, 'get'))
    await deniedFor(one, 'get')
    assert.equal((await one.leadership())?.leading, false)
  })

  it('without update a free Lease is not acquired', async (t) => {
    const installed = await install(BEFOREHAND, 'update')
    const one = await run(t, 'one', installed)
    await deniedFor(one, 'update')
    assert.equal((await one.leadership())?.leading, false)
    assert.equal((await installed.namespace.lease(NAME))?.spec.holderIdentity, undefined)
  })

  it('without watch followers poll, and say so', async (t) => {
    const installed = await install({}, 'watch')
    const one = await run(t, 'one', installed)
    await one.leads()
    await until('it is said', () => {
      const said = complaints(one)
      return said.some((line) => /no wake-ups, polling.*verbs: \["watch"\]/.test(line)) ? said : null
    })
  })

  it('without get an observer sees nothing; without watch it says so', async (t) => {
    await deniedFor(await run(t, 'blind', await install(OBSERVER, 'get')), 'get')
    const slow = await run(t, 'slow', await install(OBSERVER, 'watch'))
    await until('it is said', () => (complaints(slow).some((line) => /no wake-ups/.test(line)) ? true : null))
  })

  it('grants nothing on the Lease of another election', async (t) => {
    const { namespace, environment } = await install({})
    await namespace.createLease('other')
    const one = await run(t, 'one', { namespace, environment: { ...environment, TENURE_ELECTION: 'other' } })
    await deniedFor(one, 'get')
  })
})
