import { isAnonymous } from '../../../stores/kubernetes/errors.ts'
import type { Place } from '../../../stores/kubernetes/location.ts'
import { isRecord } from '../../client.ts'
import { advise, type Check, fault, ok, skipped } from '../check.ts'
import { checkOffset } from '../clock-offset.ts'
import type { Subject } from '../subject.ts'
import type { Answer, Client } from './client.ts'

/** `Date` counts whole seconds, cut off. */
const DATE_STEP_MS = 1_000

/** Checks of the server; `user` is null where nothing else can be asked. */
interface Examined {
  readonly checks: readonly Check[]
  readonly user: string | null
}

export async function examineServer(client: Client, place: Place, subject: Subject): Promise<Examined> {
  const { clock, config } = subject
  const beforeMs = clock.date()
  const version = await client.get('/version')
  const tookMs = clock.date() - beforeMs
  const { host } = place.source.server
  const name = isRecord(version.body)
    ? String(version.body.gitVersion ?? 'of an unknown version')
    : 'of an unknown version'
  const clockCheck = checkDate(version.dateMs, beforeMs, tookMs, config.timing.marginMs)
  const server = [ok('server', `the API server ${host} is ${name}`), clockCheck]
  const { user, check } = await checkUser(client, place, version)
  if (user === null) return { checks: [...server, check], user }
  const api = await client.get('/apis/coordination.k8s.io/v1')
  if (api.status === 404) return { checks: [...server, check, noLeases(host)], user: null }
  return { checks: [...server, check], user }
}

/** Of the time within which the server has read its clock, and the second that it tells, the middles are compared. */
function checkDate(dateMs: number | null, beforeMs: number, tookMs: number, marginMs: number): Check {
  if (dateMs === null) return skipped('clock', 'the API server does not tell its date')
  const aheadMs = dateMs + DATE_STEP_MS / 2 - (beforeMs + tookMs / 2)
  return checkOffset({ aheadMs, uncertainMs: (tookMs + DATE_STEP_MS) / 2 }, marginMs, 'the API server')
}

async function checkUser(
  client: Client,
  { source }: Place,
  version: Answer,
): Promise<{ readonly user: string | null; readonly check: Check }> {
  const review =
    version.status === 401 ? version : await client.review('authentication.k8s.io', 'SelfSubjectReview', {})
  if (review.status === 401) return { user: null, check: refused(source.name) }
  const user = userOf(review)
  if (isAnonymous(review) || user === 'system:anonymous') return { user: null, check: anonymous(source.name) }
  return { user: user ?? '', check: ok('credentials', `${source.name}: ${user ?? 'known to the server'}`) }
}

function userOf({ body }: Answer): string | null {
  const status = isRecord(body) ? body.status : null
  const info = isRecord(status) ? status.userInfo : null
  return isRecord(info) && typeof info.username === 'string' ? info.username : null
}

function refused(name: string): Check {
  return fault(
    'credentials',
    'denied',
    `${name}: the API server does not take the token or the certificate (401)`,
    'the credentials are valid: tokens and certificates run out, and tokens end with their pod, Secret or account',
    advise(
      'in a pod, restart it with a service account that exists; elsewhere log in anew, or put a token of `kubectl -n NAMESPACE create token ACCOUNT` into the kubeconfig',
    ),
  )
}

function anonymous(name: string): Check {
  return fault(
    'credentials',
    'denied',
    `${name}: no credentials were sent`,
    'the API server knows who asks',
    advise('give the user of the kubeconfig a token, a certificate or a program for them'),
  )
}

function noLeases(host: string): Check {
  return fault(
    'server',
    'misconfigured',
    `${host} does not serve coordination.k8s.io/v1`,
    'the server is a Kubernetes API server that serves Leases',
    advise('correct the address of the server in the kubeconfig; every Kubernetes since 1.14 serves them'),
  )
}
