// A counter in a ConfigMap, which remembers the generation that wrote last. The resourceVersion makes the API server refuse
// a write that has not seen the latest one.
import { readFileSync } from 'node:fs'

const {
  KUBERNETES_SERVICE_HOST: host,
  KUBERNETES_SERVICE_PORT: port,
  SERVICE_ACCOUNT,
  NAMESPACE,
  STATE,
} = process.env
const URL = `https://${host.includes(':') ? `[${host}]` : host}:${port}/api/v1/namespaces/${NAMESPACE}/configmaps/${STATE}`
const WITHIN_MS = 2_000

/** The token is read each time, because it is renewed. NODE_EXTRA_CA_CERTS names the authority. */
function api(method, body) {
  const authorization = `Bearer ${readFileSync(`${SERVICE_ACCOUNT}/token`, 'utf8').trim()}`
  const headers = { authorization, 'content-type': 'application/json' }
  return fetch(URL, {
    method,
    headers,
    body: body && JSON.stringify(body),
    signal: AbortSignal.timeout(WITHIN_MS),
  })
}

export async function write({ generation, session }) {
  const read = await api('GET')
  if (!read.ok) throw new Error(`${read.status}: ${await read.text()}`)
  const state = await read.json()
  const { generation: fence = '0', session: writer = '', value = '0' } = state.data ?? {}
  if (Number(fence) > generation || (Number(fence) === generation && writer !== session))
    return { stale: true }
  const next = Number(value) + 1
  const data = { value: String(next), generation: String(generation), session }
  const written = await api('PUT', { ...state, data })
  if (written.status === 409) return { contended: true }
  if (!written.ok) throw new Error(`${written.status}: ${await written.text()}`)
  return { value: next }
}
