/** A namespace of its own for a test, with service accounts, roles and kubeconfigs. */
import { randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { ApiReply, ApiServer } from './api-server.ts'

const RBAC = 'rbac.authorization.k8s.io'

export interface Rule {
  readonly verbs: readonly string[]
  readonly resourceNames?: readonly string[]
}

/** What a sidecar needs when it may create its Lease. */
export const ALL_VERBS = ['get', 'create', 'update', 'watch'] as const

interface Token {
  readonly token: string
  /** Makes the API server refuse it; it may take ten seconds until it does. */
  revoke(): Promise<void>
}

export class Namespace {
  readonly server: ApiServer
  readonly name: string

  private constructor(server: ApiServer, name: string) {
    this.server = server
    this.name = name
  }

  static async create(server: ApiServer): Promise<Namespace> {
    const name = `tenure-${randomBytes(6).toString('hex')}`
    await server.must('POST', '/api/v1/namespaces', { metadata: { name } })
    return new Namespace(server, name)
  }

  /** A service account with these rules on Leases; without any, one that may do nothing. */
  async createAccount(rules: readonly Rule[] = [{ verbs: ALL_VERBS }]): Promise<string> {
    const account = `sidecar-${randomBytes(6).toString('hex')}`
    await this.server.must('POST', `/api/v1/namespaces/${this.name}/serviceaccounts`, {
      metadata: { name: account },
    })
    await this.server.must('POST', `${this.#rbac}/roles`, roleOf(account, rules))
    await this.server.must('POST', `${this.#rbac}/rolebindings`, {
      metadata: { name: account },
      roleRef: { apiGroup: RBAC, kind: 'Role', name: account },
      subjects: [{ kind: 'ServiceAccount', name: account, namespace: this.name }],
    })
    return account
  }

  /** Replaces the rules of an account; they count a moment later. */
  async setRules(account: string, rules: readonly Rule[]): Promise<void> {
    await this.server.must('PUT', `${this.#rbac}/roles/${account}`, roleOf(account, rules))
  }

  /** A token of the account, bound to a Secret, so that it can be revoked. */
  async createToken(account: string): Promise<Token> {
    const secrets = `/api/v1/namespaces/${this.name}/secrets`
    const name = `token-${randomBytes(6).toString('hex')}`
    const secret = (await this.server.must('POST', secrets, { metadata: { name } })) as {
      metadata: { uid: string }
    }
    const boundObjectRef = { kind: 'Secret', apiVersion: 'v1', name, uid: secret.metadata.uid }
    const path = `/api/v1/namespaces/${this.name}/serviceaccounts/${account}/token`
    const { status } = (await this.server.must('POST', path, { spec: { boundObjectRef } })) as {
      status: { token: string }
    }
    return {
      token: status.token,
      revoke: async () => {
        await this.server.must('DELETE', `${secrets}/${name}`)
      },
    }
  }

  /** Writes a kubeconfig for an account, with one context that names this namespace. `port`: that of a proxy. */
  async kubeconfig(
    account: string,
    { port = this.server.port, user }: KubeconfigOptions = {},
  ): Promise<string> {
    const ca = Buffer.from(await this.server.ca()).toString('base64')
    const path = join(this.server.home, `${account}-${randomBytes(4).toString('hex')}.kubeconfig`)
    const config = {
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [
        { name: 'test', cluster: { server: `https://127.0.0.1:${port}`, 'certificate-authority-data': ca } },
      ],
      users: [{ name: 'test', user: user ?? { token: (await this.createToken(account)).token } }],
      contexts: [{ name: 'test', context: { cluster: 'test', user: 'test', namespace: this.name } }],
      'current-context': 'test',
    }
    await writeFile(path, JSON.stringify(config))
    return path
  }

  /** Asks for a Lease as an account would. */
  async probe(account: string, name: string): Promise<ApiReply> {
    const { token } = await this.createToken(account)
    return this.server.request('GET', this.leasePath(name), undefined, token)
  }

  /** Begins its deletion, which nobody here completes. */
  async delete(): Promise<void> {
    await this.server.must('DELETE', `/api/v1/namespaces/${this.name}`)
  }

  leasePath(name: string): string {
    return `/apis/coordination.k8s.io/v1/namespaces/${this.name}/leases/${name}`
  }

  /** The Lease as stored; null when there is none. */
  async lease(name: string): Promise<StoredLease | null> {
    const { status, body } = await this.server.request('GET', this.leasePath(name))
    if (status === 200) return body as StoredLease
    if (status === 404) return null
    throw new Error(`GET of the Lease ${name}: ${status} ${JSON.stringify(body)}`)
  }

  /** Changes a Lease as an operator would with `kubectl patch --type merge`. */
  async patchLease(name: string, patch: unknown): Promise<void> {
    await this.server.must('PATCH', this.leasePath(name), patch)
  }

  async deleteLease(name: string): Promise<void> {
    await this.server.must('DELETE', this.leasePath(name))
  }

  async createLease(name: string, spec: unknown = {}, metadata: object = {}): Promise<void> {
    await this.server.must('POST', `/apis/coordination.k8s.io/v1/namespaces/${this.name}/leases`, {
      metadata: { name, ...metadata },
      spec,
    })
  }

  get #rbac(): string {
    return `/apis/${RBAC}/v1/namespaces/${this.name}`
  }
}

export interface KubeconfigOptions {
  readonly port?: number
  /** The user as a kubeconfig has it, instead of a token. */
  readonly user?: unknown
}

export interface StoredLease {
  readonly metadata: {
    readonly name: string
    readonly uid: string
    readonly resourceVersion: string
    readonly labels?: Readonly<Record<string, string>>
    readonly annotations?: Readonly<Record<string, string>>
  }
  readonly spec: {
    readonly holderIdentity?: string
    readonly leaseDurationSeconds?: number
    readonly acquireTime?: string
    readonly renewTime?: string
    readonly leaseTransitions?: number
    readonly strategy?: string
  }
}

function roleOf(name: string, rules: readonly Rule[]): unknown {
  return {
    metadata: { name },
    rules: rules.map((rule) => ({ apiGroups: ['coordination.k8s.io'], resources: ['leases'], ...rule })),
  }
}
