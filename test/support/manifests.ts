/** Kubernetes manifests as tests read them. */
import assert from 'node:assert/strict'
import { parseAllDocuments } from 'yaml'

export interface Variable {
  readonly name: string
  readonly value?: string
  readonly valueFrom?: {
    readonly fieldRef?: { readonly fieldPath: string }
    readonly secretKeyRef?: { readonly name: string; readonly key: string }
  }
}

export interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string | number }
  readonly periodSeconds: number
  readonly failureThreshold: number
}

export interface Container {
  readonly name: string
  readonly image: string
  readonly restartPolicy?: string
  readonly command?: readonly string[]
  readonly args?: readonly string[]
  readonly env?: readonly Variable[]
  readonly envFrom?: readonly { readonly configMapRef: { readonly name: string } }[]
  readonly ports?: readonly { readonly name: string; readonly containerPort: number }[]
  readonly startupProbe?: Probe
  readonly livenessProbe?: Probe
  readonly readinessProbe?: Probe
  readonly lifecycle?: { readonly preStop: { readonly exec: { readonly command: readonly string[] } } }
  readonly securityContext?: Readonly<Record<string, unknown>>
  readonly resources?: { readonly limits?: Readonly<Record<string, string>> }
  readonly terminationMessagePolicy?: string
  readonly volumeMounts?: readonly { readonly name: string; readonly mountPath: string }[]
}

export interface PodSpec {
  readonly serviceAccountName?: string
  readonly automountServiceAccountToken?: boolean
  readonly terminationGracePeriodSeconds?: number
  readonly nodeSelector?: Readonly<Record<string, string>>
  readonly initContainers?: readonly Container[]
  readonly containers: readonly Container[]
  readonly volumes?: readonly ({ readonly name: string } & Readonly<Record<string, unknown>>)[]
}

export interface PolicyRule {
  readonly resources: readonly string[]
  readonly resourceNames?: readonly string[]
  readonly verbs: readonly string[]
}

export interface Manifest {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: {
    readonly name: string
    readonly namespace?: string
    readonly labels?: Readonly<Record<string, string>>
    readonly annotations?: Readonly<Record<string, string>>
  }
  readonly data?: Readonly<Record<string, string>>
  readonly rules?: readonly PolicyRule[]
  readonly roleRef?: { readonly name: string }
  readonly subjects?: readonly { readonly name: string; readonly namespace?: string }[]
  readonly spec?: { readonly template?: { readonly spec: PodSpec }; readonly replicas?: number }
}

/** Every document that holds something. A mistake in the YAML throws. */
export function parseManifests(text: string): readonly Manifest[] {
  return parseAllDocuments(text).flatMap((document) => {
    const [error] = document.errors
    if (error !== undefined) throw error
    const manifest = document.toJS() as Manifest | null
    return manifest === null ? [] : [manifest]
  })
}

/** The one manifest of that kind, and of that name where one is given. */
export function only(manifests: readonly Manifest[], kind: string, name?: string): Manifest {
  const found = manifests.filter(
    (one) => one.kind === kind && (name ?? one.metadata.name) === one.metadata.name,
  )
  assert.equal(found.length, 1, `${kind} ${name ?? ''}: ${found.length} of them`)
  return found[0] as Manifest
}

/** The spec of the pods that a workload makes. */
export function podOf(workload: Manifest): PodSpec {
  assert.ok(workload.spec?.template !== undefined, `${workload.kind} makes no pods`)
  return workload.spec.template.spec
}

/** The sidecar, wherever it stands. */
export function sidecarOf(pod: PodSpec): Container {
  const found = [...(pod.initContainers ?? []), ...pod.containers].filter(({ name }) => name === 'tenure')
  assert.equal(found.length, 1, `${found.length} sidecars`)
  return found[0] as Container
}

/** The variables of a container whose values stand in the manifest. */
export function variablesOf({ env = [] }: Container): Readonly<Record<string, string>> {
  return Object.fromEntries(env.flatMap(({ name, value }) => (value === undefined ? [] : [[name, value]])))
}
