import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { describe, it } from 'node:test'
import { parseAllDocuments } from 'yaml'
import {
  attempt,
  failsWith,
  hintsOf,
  newCandidate,
  newElection,
  startUnless,
  until,
  win,
} from '../support/kubernetes/bench.ts'
import { skipReason } from '../support/kubernetes/binaries.ts'
import { Namespace } from '../support/kubernetes/namespace.ts'

const TTL_MS = 60_000
const ELECTION = 'fleet-manager'
const asking = { ttlMs: TTL_MS, above: 0 }

const skip = skipReason()
const bench = await startUnless(skip)

interface Manifest {
  readonly kind: string
  readonly metadata: { readonly name: string; namespace: string }
  readonly subjects?: { readonly name: string; namespace: string }[]
}

const PATHS: Readonly<Record<string, string>> = {
  Lease: '/apis/coordination.k8s.io/v1/namespaces/NS/leases',
  Role: '/apis/rbac.authorization.k8s.io/v1/namespaces/NS/roles',
  RoleBinding: '/apis/rbac.authorization.k8s.io/v1/namespaces/NS/rolebindings',
}

/** Applies a manifest of ours in a namespace of its own, for the service account that it names. */
async function applied(file: string): Promise<{ namespace: Namespace; kubeconfig: string }> {
  const namespace = await Namespace.create(bench.server)
  const account = { metadata: { name: ELECTION } }
  await bench.server.must('POST', `/api/v1/namespaces/${namespace.name}/serviceaccounts`, account)
  const text = await readFile(new URL(`../../deploy/kubernetes/${file}`, import.meta.url), 'utf8')
  for (const document of parseAllDocuments(text)) {
    const manifest = document.toJS() as Manifest
    manifest.metadata.namespace = namespace.name
    for (const subject of manifest.subjects ?? []) subject.namespace = namespace.name
    await bench.server.must('POST', (PATHS[manifest.kind] ?? '').replace('NS', namespace.name), manifest)
  }
  return { namespace, kubeconfig: await namespace.kubeconfig(ELECTION) }
}

describe('the roles that we ship', { skip }, () => {
  for (const file of ['role.yaml', 'role-existing-lease.yaml']) {
    it(`${file}: everything works, the watch included, and nothing is said`, async () => {
      const { namespace, kubeconfig } = await applied(file)
      const store = await bench.open({ kubeconfig, namespace: namespace.name })
      const hints = hintsOf(store, ELECTION)
      await until('the role counts', async () => {
        const { status } = await namespace.probe(ELECTION, ELECTION)
        return status !== 403
      })
      const held = await win(store, ELECTION, newCandidate(), { ttlMs: TTL_MS })
      assert.equal((await store.renew(held, TTL_MS, attempt())).kind, 'granted')
      await namespace.patchLease(ELECTION, { spec: { leaseTransitions: 7 } })
      await until('the watch is up', () => hints.includes('suspect'))
      await namespace.patchLease(ELECTION, { spec: { leaseTransitions: held.generation } })
      assert.equal((await store.release(held, attempt())).kind, 'released')
      assert.deepEqual(bench.notes, [])
    })

    it(`${file}: no other Lease can be written`, async () => {
      const { namespace, kubeconfig } = await applied(file)
      await namespace.createLease('other')
      const store = await bench.open({ kubeconfig, namespace: namespace.name })
      await failsWith(store.acquire('other', newCandidate(), asking, attempt()), 'denied')
    })
  }

  it('role-existing-lease.yaml: a Lease that was deleted is not made anew, and the error says what to do', async () => {
    const { namespace, kubeconfig } = await applied('role-existing-lease.yaml')
    const store = await bench.open({ kubeconfig, namespace: namespace.name })
    await namespace.deleteLease(ELECTION)
    const message = await failsWith(store.acquire(ELECTION, newCandidate(), asking, attempt()), 'denied')
    assert.match(message, /create the Lease fleet-manager beforehand/)
  })
})

describe('a right that is missing', { skip }, () => {
  it('is named, with the rule to add', async () => {
    const election = newElection()
    const account = await bench.namespace.createAccount([])
    const store = await bench.open({ account })
    const acquire = () => store.acquire(election, newCandidate(), asking, attempt())
    const rule = (verb: string) =>
      new RegExp(
        `add the rule \\{apiGroups: \\["coordination.k8s.io"\\], resources: \\["leases"\\], verbs: \\["${verb}"\\].*namespace ${bench.namespace.name}`,
      )
    assert.match(await failsWith(acquire(), 'denied'), rule('get'))
    await bench.namespace.setRules(account, [{ verbs: ['get'] }])
    await until('get is granted', async () => !/"get"/.test(await failsWith(acquire(), 'denied')))
    assert.match(await failsWith(acquire(), 'denied'), rule('create'))
    await bench.namespace.createLease(election)
    assert.match(await failsWith(acquire(), 'denied'), rule('update'))
  })

  it('taken from a holder and given back: the renewals fail, and then go on', async () => {
    const account = await bench.namespace.createAccount()
    const store = await bench.open({ account })
    const held = await win(store, newElection(), newCandidate(), { ttlMs: TTL_MS })
    await bench.namespace.setRules(account, [])
    await until('a renewal is refused', async () => {
      const outcome = await store.renew(held, TTL_MS, attempt()).catch((error: Error) => error)
      return outcome instanceof Error && /verbs: \["update"\]/.test(outcome.message)
    })
    await bench.namespace.setRules(account, [{ verbs: ['get', 'update'] }])
    await until('a renewal is granted', async () => {
      const outcome = await store.renew(held, TTL_MS, attempt()).catch((error: Error) => error)
      return !(outcome instanceof Error) && outcome.kind === 'granted'
    })
  })

  it('to watch is no error: it is said once, and everything else works', async () => {
    const account = await bench.namespace.createAccount([{ verbs: ['get', 'create', 'update'] }])
    const store = await bench.open({ account })
    const election = newElection()
    hintsOf(store, election)
    hintsOf(store, newElection())
    await until('it is said', () => bench.notes.length > 0)
    assert.match(bench.notes[0] ?? '', /no wake-ups, polling.*verbs: \["watch"\]/)
    const held = await win(store, election, newCandidate(), { ttlMs: TTL_MS })
    assert.equal((await store.renew(held, TTL_MS, attempt())).kind, 'granted')
    assert.equal((await store.release(held, attempt())).kind, 'released')
    assert.equal(bench.notes.length, 1)
  })
})

describe('a namespace', { skip }, () => {
  it('that does not exist is named as what is missing', async () => {
    const kubeconfig = await bench.adminKubeconfig()
    const store = await bench.open({ kubeconfig, namespace: 'nowhere' })
    const message = await failsWith(
      store.acquire(newElection(), newCandidate(), asking, attempt()),
      'misconfigured',
    )
    assert.match(message, /create the namespace nowhere/)
    assert.equal(await store.current(newElection(), attempt()), null)
  })

  it('that is being deleted takes no new Lease, and the error says so', async () => {
    const namespace = await Namespace.create(bench.server)
    const kubeconfig = await bench.adminKubeconfig()
    const store = await bench.open({ kubeconfig, namespace: namespace.name })
    await namespace.delete()
    const message = await failsWith(
      store.acquire(newElection(), newCandidate(), asking, attempt()),
      'misconfigured',
    )
    assert.match(message, /use a namespace other than/)
  })
})
