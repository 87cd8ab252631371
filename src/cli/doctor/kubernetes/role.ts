/** The Role that a candidate needs, bound to whoever asks. */

const ACCOUNT = /^system:serviceaccount:(?<namespace>[^:]+):(?<name>[^:]+)$/

/** `user` as the API server names it. */
export function roleManifest(
  namespace: string,
  user: string,
  leases: readonly string[],
  observer: boolean,
): string {
  const name = roleName(user, leases)
  const names = leases.map((one) => JSON.stringify(one)).join(', ')
  const create = observer ? [] : [rule('create', null)]
  return [
    'apiVersion: rbac.authorization.k8s.io/v1',
    'kind: Role',
    `metadata: { name: ${name}, namespace: ${namespace} }`,
    'rules:',
    ...create,
    rule(observer ? 'get, watch' : 'get, update, watch', names),
    '---',
    'apiVersion: rbac.authorization.k8s.io/v1',
    'kind: RoleBinding',
    `metadata: { name: ${name}, namespace: ${namespace} }`,
    `roleRef: { apiGroup: rbac.authorization.k8s.io, kind: Role, name: ${name} }`,
    'subjects:',
    `  - ${subjectOf(user)}`,
  ].join('\n')
}

/** `create` cannot be bound to a name. */
function rule(verbs: string, names: string | null): string {
  const bound = names === null ? '' : `, resourceNames: [${names}]`
  return `  - { apiGroups: [coordination.k8s.io], resources: [leases], verbs: [${verbs}]${bound} }`
}

function subjectOf(user: string): string {
  const account = ACCOUNT.exec(user)?.groups
  if (account === undefined) {
    return `{ kind: User, apiGroup: rbac.authorization.k8s.io, name: ${JSON.stringify(user)} }`
  }
  return `{ kind: ServiceAccount, name: ${account.name}, namespace: ${account.namespace} }`
}

/** Of its own for each user and election, so that applying it takes nothing from anybody. */
function roleName(user: string, leases: readonly string[]): string {
  const who = ACCOUNT.exec(user)?.groups?.name ?? user
  return `tenure-${who}-${leases.join('-')}`
    .toLowerCase()
    .replaceAll(/[^a-z0-9-]+/g, '-')
    .slice(0, NAME_MOST)
    .replace(/-+$/, '')
}

const NAME_MOST = 200
