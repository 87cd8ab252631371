/** `tenure doctor` on a real API server: what is planted is named, and what it says to paste mends it. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { parseAllDocuments } from 'yaml'
import { systemClock } from '../../src/clock/system-clock.ts'
import {
  type Apply,
  applyAnywhere,
  complaints,
  diagnose,
  type Patient,
  type Planted,
  testPlanted,
} from '../support/doctor.ts'
import { commonPlanted } from '../support/doctor-planted.ts'
import { newCandidate, startUnless, win } from '../support/kubernetes/bench.ts'
import { findBinary, skipReason } from '../support/kubernetes/binaries.ts'
import { ALL_VERBS, Namespace, type Rule } from '../support/kubernetes/namespace.ts'
import { ShiftedClock } from '../support/kubernetes/shifted-clock.ts'
import { until } from '../support/sidecar.ts'
import { tempFolder } from '../support/temp.ts'

const skip = skipReason()
/** Else the API server drops the field `strategy`. */
const COORDINATED = [
  '--feature-gates=CoordinatedLeaderElection=true',
  '--runtime-config=coordination.k8s.io/v1beta1=true',
]
const bench = await startUnless(skip, COORDINATED)
const temp = tempFolder()
after(() => temp.remove())

/** kubectl as an administrator would have it. */
async function installKubectl(): Promise<string> {
  const path = findBinary('kubectl')
  assert.ok(path !== null, 'kubectl is missing: run `node scripts/prepare-tests.ts`')
  const config = await bench.adminKubeconfig()
  const script = join(temp.path, 'kubectl')
  await writeFile(script, `#!/bin/sh\nKUBECONFIG='${config}' exec '${path}' "$@"\n`, { mode: 0o755 })
  return temp.path
}
const bin = skip === false ? await installKubectl() : ''

const PATHS: Readonly<Record<string, string>> = {
  Namespace: '/api/v1/namespaces',
  Role: '/apis/rbac.authorization.k8s.io/v1/namespaces/NS/roles',
  RoleBinding: '/apis/rbac.authorization.k8s.io/v1/namespaces/NS/rolebindings',
}

interface Manifest {
  readonly kind: string
  readonly metadata: { readonly name: string; readonly namespace?: string }
}

const apply: Apply = async (paste, patient) => {
  if (paste.into !== 'manifest') return applyAnywhere(paste, patient, bin)
  for (const document of parseAllDocuments(paste.text)) {
    const manifest = document.toJS() as Manifest
    const path = (PATHS[manifest.kind] ?? '').replace('NS', manifest.metadata.namespace ?? '')
    await bench.server.must('POST', path, manifest)
  }
  await until('the rules count', async () => {
    const { checks } = await diagnose(patient)
    return checks.some(({ name, status }) => name === 'rights' && status !== 'ok') ? null : true
  })
  return patient
}

function newName(): string {
  return `election-${randomBytes(4).toString('hex')}`
}

interface Place {
  readonly election: string
  readonly patient: Patient
}

/** An account with these rules, and a kubeconfig of it. */
async function place(rules: readonly Rule[] = [{ verbs: ALL_VERBS }], store = 'kubernetes:'): Promise<Place> {
  const account = await bench.namespace.createAccount(rules)
  const election = newName()
  const KUBECONFIG = await bench.namespace.kubeconfig(account)
  const patient = { argv: ['--store', store, '--election', election], environment: { KUBECONFIG } }
  if (rules.length > 0) {
    await until('the rules count', async () => {
      const { checks } = await diagnose(patient)
      return checks.some(({ name, found }) => name === 'rights' && lacksAll(found)) ? null : true
    })
  }
  return { election, patient }
}

/** The rules of an account count a moment after it was made. */
function lacksAll(found: string): boolean {
  return ['get', 'update', 'create', 'watch'].every((verb) => found.includes(`${verb} on`))
}

/** A place whose Lease stands already. */
async function withLease(spec: object, metadata: object = {}): Promise<Patient> {
  const { election, patient } = await place()
  await bench.namespace.createLease(election, spec, metadata)
  return patient
}

const fault = (rest: Omit<Planted, 'status'>): Planted => ({ status: 'fault', ...rest })
const warning = (rest: Omit<Planted, 'status' | 'code'>): Planted => ({ status: 'warning', code: 0, ...rest })
const without = (verb: string): readonly Rule[] => [{ verbs: ALL_VERBS.filter((one) => one !== verb) }]
const role = (name: string) =>
  new RegExp(`kind: Role\\n.*\\n[^]*verbs: \\[create\\][^]*resourceNames: \\["${name}`)

const PLANTED: readonly Planted[] = [
  fault({
    title: 'a namespace that is not there',
    plant: async () => ({
      argv: ['--store', 'kubernetes://nowhere'],
      environment: { KUBECONFIG: await bench.adminKubeconfig() },
    }),
    check: 'namespace',
    found: /there is no namespace nowhere/,
    code: 2,
    paste: /^apiVersion: v1\nkind: Namespace\nmetadata:\n {2}name: nowhere$/,
  }),
  warning({
    title: 'a kubeconfig that names no namespace',
    plant: async () => {
      const path = await bench.adminKubeconfig()
      const config = JSON.parse(await readFile(path, 'utf8'))
      delete config.contexts[0].context.namespace
      await writeFile(path, JSON.stringify(config))
      return { argv: ['--store', 'kubernetes:', '--election', newName()], environment: { KUBECONFIG: path } }
    },
    check: 'namespace',
    found: /names no namespace/,
    paste: /^--store kubernetes:\/\/default$/,
  }),
  ...['get', 'update', 'create'].map((verb) =>
    fault({
      title: `an account that may not ${verb}`,
      plant: async () => (await place(without(verb))).patient,
      check: 'rights',
      found: new RegExp(`^system:serviceaccount:\\S+ lacks ${verb} on the Lease`),
      code: 4,
      paste: role('election-'),
    }),
  ),
  warning({
    title: 'an account that may not watch',
    plant: async () => (await place(without('watch'))).patient,
    check: 'rights',
    found: /lacks watch on the Lease/,
    paste: role('election-'),
  }),
  fault({
    title: 'an account that may do nothing',
    plant: async () => (await place([])).patient,
    check: 'rights',
    found: /lacks get on .*, update on .*, create on .*, watch on/,
    code: 4,
    paste: role('election-'),
  }),
  fault({
    title: 'a user who is no service account, and may do nothing',
    plant: async () => {
      const user = { token: bench.server.adminToken, as: 'jane@example.com' }
      return {
        argv: ['--store', 'kubernetes:', '--election', 'Fleet Manager'],
        environment: { KUBECONFIG: await bench.namespace.kubeconfig('jane', { user }) },
      }
    },
    check: 'rights',
    found: /^jane@example\.com lacks get on the Lease tenure-[0-9a-f]{64}/,
    code: 4,
    paste: /kind: User, .*name: "jane@example\.com"/,
  }),
  fault({
    title: 'a Lease of coordinated leader election',
    plant: () =>
      withLease({ strategy: 'OldestEmulationVersion', holderIdentity: 'theirs', leaseDurationSeconds: 15 }),
    check: 'lease',
    found: /has the strategy "OldestEmulationVersion"/,
    code: 2,
    paste: /^--election election-\w+-tenure$/,
  }),
  fault({
    title: 'a Lease whose generations are used up',
    plant: () => withLease({ leaseTransitions: 2 ** 31 - 1 }),
    check: 'lease',
    found: /has used up its generations/,
    code: 2,
    paste: /^--election election-\w+-tenure$/,
  }),
  fault({
    title: 'a floor that leaves no generation',
    plant: async () => {
      const { argv, ...rest } = await withLease({ leaseTransitions: 7 })
      return { ...rest, argv: [...argv, '--generation-floor', String(2 ** 31)] }
    },
    check: 'lease',
    found: /leaves no generation/,
    code: 2,
    paste: /^--generation-floor 7$/,
  }),
  warning({
    title: 'a Lease that a candidate of client-go holds',
    plant: () => withLease({ holderIdentity: 'their-pod', leaseDurationSeconds: 15 }),
    check: 'lease',
    found: /is held by "their-pod", a candidate that is not Tenure's/,
    paste: /^--election election-\w+-tenure$/,
  }),
  warning({
    title: 'a Lease that goes with its owner',
    plant: () =>
      withLease(
        {},
        {
          ownerReferences: [
            { apiVersion: 'v1', kind: 'Pod', name: 'x', uid: 'c0ffee00-0000-4000-8000-000000000000' },
          ],
        },
      ),
    check: 'lease',
    found: /has an owner/,
    paste: /^kubectl -n \S+ patch lease election-\w+ --type merge -p /,
  }),
  warning({
    title: 'a twin',
    plant: async () => {
      const { election, patient } = await place()
      await win(await bench.open(), election, newCandidate('web-9'))
      return { ...patient, argv: [...patient.argv, '--identity', 'web-9'] }
    },
    check: 'twin',
    found: /held as "web-9" by session [0-9a-f-]{36}/,
    paste: /^--identity web-9-2$/,
  }),
]

// Before the first test is named: once all that are named have run, the server is taken away.
const sound = skip === false ? (await place()).patient : { argv: [] }

describe('on Kubernetes', { skip }, () => {
  testPlanted(PLANTED, apply)
  testPlanted(commonPlanted({ sound: () => sound, leastTtl: '3s' }), apply)
})

describe('on Kubernetes, where nothing can be pasted, it still says what to do', { skip }, () => {
  /** The fault of that name, on one line. */
  async function faultOf(name: string, patient: Patient): Promise<string> {
    const { code, checks } = await diagnose(patient)
    const named = checks.find((check) => check.name === name && check.status === 'fault')
    assert.ok(named, JSON.stringify(checks))
    return `${code} ${named.found}: ${named.remedy?.advice}`
  }

  const reachedBy = async (account: string, options: object): Promise<Patient> => ({
    argv: ['--store', 'kubernetes:'],
    environment: { KUBECONFIG: await bench.namespace.kubeconfig(account, options) },
  })

  test('about a kubeconfig that is not there', async () => {
    const patient = { argv: ['--store', 'kubernetes:'], environment: { KUBECONFIG: join(temp.path, 'none') } }
    assert.match(await faultOf('credentials', patient), /^2 .*cannot be used: ENOENT.*set KUBECONFIG/)
  })

  test('about a token file that is not there', async () => {
    const patient = await reachedBy('files', { user: { tokenFile: '/nowhere/token' } })
    assert.match(await faultOf('credentials', patient), /^4 .*ENOENT.*: mend the file/)
  })

  test('about a token that the server does not take', async () => {
    const patient = await reachedBy('stale', { user: { token: 'stale' } })
    assert.match(
      await faultOf('credentials', patient),
      /^4 .*\(401\).*kubectl -n NAMESPACE create token ACCOUNT/,
    )
  })

  test('about credentials that nobody sent', async () => {
    const patient = await reachedBy('nobody', { user: {} })
    assert.match(await faultOf('credentials', patient), /^4 .*no credentials were sent: give the user/)
  })

  test('about a server on which nobody listens', async () => {
    const patient = await reachedBy(bench.account, { port: 1 })
    assert.match(await faultOf('server', patient), /^4 .*ECONNREFUSED.*: look whether the API server runs/)
  })

  test('about a certificate that is not trusted', async () => {
    const patient = await reachedBy(bench.account, {})
    const path = patient.environment?.KUBECONFIG ?? ''
    const config = JSON.parse(await readFile(path, 'utf8'))
    delete config.clusters[0].cluster['certificate-authority-data']
    await writeFile(path, JSON.stringify(config))
    assert.match(await faultOf('server', patient), /^2 .*certificate.*: correct certificate-authority-data/)
  })

  test('about a namespace that is being deleted', async () => {
    const namespace = await Namespace.create(bench.server)
    const patient = {
      argv: ['--store', `kubernetes://${namespace.name}`],
      environment: { KUBECONFIG: await bench.adminKubeconfig() },
    }
    await namespace.delete()
    assert.match(await faultOf('namespace', patient), /^2 .*is being deleted: name another one/)
  })

  test('about a policy that refuses the write', async () => {
    const { patient, election } = await place()
    await refuse(election)
    const line = await until('the policy counts', async () => {
      const { checks } = await diagnose(patient)
      return checks.some(({ name, status }) => name === 'writable' && status === 'fault')
        ? faultOf('writable', patient)
        : null
    })
    assert.match(line, /no leases today.*: where the message names a policy/)
  })

  test('about a clock that differs by more than half the margin', async () => {
    const clock = new ShiftedClock(systemClock())
    clock.forward(60_000)
    const { code, checks } = await diagnose({ ...(await place()).patient, clock })
    const named = checks.find(({ name }) => name === 'clock')
    assert.equal(`${code} ${named?.status}`, '0 warning')
    assert.match(named?.found ?? '', /behind this host's/)
  })
})

test('a sound Lease is left alone, and none is made', { skip }, async () => {
  const { election, patient } = await place()
  assert.deepEqual(complaints(await diagnose(patient)), [])
  assert.equal(await bench.namespace.lease(election), null)
  await win(await bench.open(), election, newCandidate('web-1'))
  const before = await bench.namespace.lease(election)
  assert.deepEqual(complaints(await diagnose(patient)), [])
  assert.deepEqual(await bench.namespace.lease(election), before)
})

test('an observer needs to get and to watch only', { skip }, async () => {
  const { patient } = await place([{ verbs: ['get', 'watch'] }])
  assert.deepEqual(complaints(await diagnose({ ...patient, argv: [...patient.argv, '--observer'] })), [])
})

/** Nobody may write this Lease any more, whatever his rights. */
async function refuse(election: string): Promise<void> {
  const group = '/apis/admissionregistration.k8s.io/v1'
  await bench.server.must('POST', `${group}/validatingadmissionpolicies`, {
    metadata: { name: election },
    spec: {
      failurePolicy: 'Fail',
      matchConstraints: {
        resourceRules: [
          {
            apiGroups: ['coordination.k8s.io'],
            apiVersions: ['v1'],
            operations: ['CREATE', 'UPDATE'],
            resources: ['leases'],
          },
        ],
      },
      validations: [{ expression: `object.metadata.name != '${election}'`, message: 'no leases today' }],
    },
  })
  await bench.server.must('POST', `${group}/validatingadmissionpolicybindings`, {
    metadata: { name: election },
    spec: { policyName: election, validationActions: ['Deny'] },
  })
}
