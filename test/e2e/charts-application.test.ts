/** The example application as the chart renders it, beside real sidecars on real stores. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { after, before, describe, it, type TestContext } from 'node:test'
import { tenure } from '../support/command.ts'
import { startContainer } from '../support/container.ts'
import {
  endPod,
  onKubernetes,
  onPostgres,
  onSqlite,
  type Setting,
  said,
  startApplication,
  startPod,
  writes,
} from '../support/example-app.ts'
import { chartsUnless, valuesFor } from '../support/helm.ts'
import { startUnless } from '../support/kubernetes/bench.ts'
import { skipReason } from '../support/kubernetes/binaries.ts'
import { only, type PodSpec, podOf, sidecarOf } from '../support/manifests.ts'
import { freePort } from '../support/postgres.ts'
import { PostgresBench } from '../support/postgres-bench.ts'
import { sidecar, until } from '../support/sidecar.ts'
import { leadership, StandIn } from '../support/stand-in.ts'
import { tempFolder } from '../support/temp.ts'

const skip = skipReason(['helm'])
const skipKubernetes = skipReason(['helm', 'etcd', 'kube-apiserver'])
const skipShell = skip || missingTools()
const charts = await chartsUnless(skip)
const cluster = await startUnless(skipKubernetes)
const postgres = await PostgresBench.start()
const folder = tempFolder()
after(() => folder.remove())

function missingTools(): string | false {
  const missing = ['psql', 'wget'].filter((tool) => spawnSync(tool, ['--version']).status !== 0)
  if (missing.length === 0) return false
  const reason = `THERE IS NO ${missing.join(', NO ')} FOR THE EXAMPLE ON POSTGRESQL: run \`node scripts/prepare-tests.ts\``
  if (process.env.CI === 'true') throw new Error(reason)
  return reason
}

/** A handover: one instance writes at a time, and no write is lost or doubled. */
async function handsOver(t: TestContext, setting: Setting): Promise<void> {
  const one = await startPod(t, 'one', setting)
  await writes(one.application, 2)
  const other = await startPod(t, 'other', setting)
  await until('the other follows', async () =>
    (await other.beside.report())?.current?.holder === 'one' ? true : null,
  )
  await endPod(one)
  const [next] = await writes(other.application, 1)
  const before = said(one.application)
  assert.deepEqual(
    before.filter(({ value }) => value === undefined),
    [],
  )
  assert.equal(next?.value, (before.at(-1)?.value ?? 0) + 1)
  assert.ok((next.generation ?? 0) > (before.at(-1)?.generation ?? 0))
}

/** An answer that was true once: the application believes it, and its writes change nothing. */
async function isFenced(t: TestContext, setting: Setting): Promise<void> {
  const pod = await startPod(t, 'one', setting, ['--generation-floor', '40'])
  const lines = await writes(pod.application, 1)
  const { generation = 0, value = 0 } = lines[0] ?? {}
  assert.ok(generation > 40)
  const late = { election: 'example', leading: true, validForMs: 60_000 }
  const session = '00000000-0000-4000-8000-000000000000'
  for (const [number, because] of [
    [generation - 1, 'an older generation'],
    [generation, 'the same one of another session'],
  ] as const) {
    const standIn = new StandIn(() => ({ body: leadership({ ...late, generation: number, session }) }))
    t.after(() => standIn.stop())
    const stale = startApplication(t, setting, await standIn.start())
    await until(`${because} is refused (${stale.stderr})`, () =>
      said(stale).some((line) => line.stale) || /does not lead 'example'/.test(stale.stderr) ? true : null,
    )
    assert.deepEqual(
      said(stale).filter((line) => line.value !== undefined),
      [],
    )
    await stale.end()
  }
  const after = await writes(pod.application, lines.length + 1)
  assert.deepEqual(
    after.map((line) => line.value),
    after.map((_, index) => value + index),
  )
}

/** What the application does, whichever the store. */
function describeApplication(store: string, skipped: string | false, setUp: () => Promise<Setting>): void {
  describe(store, { skip: skipped, concurrency: 1 }, () => {
    let setting: Setting
    before(async () => {
      setting = await setUp()
    })

    it('counts on at a handover, without a gap and without a write twice', (t) => handsOver(t, setting))

    it('a stale answer changes nothing', (t) => isFenced(t, setting))

    it('says drained while its sidecar drains, so that the lease does not run out', async (t) => {
      const pod = await startPod(t, 'one', setting, ['--drain', '20s', '--hold-off', '60s'])
      await writes(pod.application, 1)
      await pod.beside.post('/v1/resign', {})
      await until('it is drained', async () =>
        (await pod.beside.report())?.reason === 'drained' ? true : null,
      )
      await endPod(pod)
    })
  })
}

describe('the example application', { skip, concurrency: true }, () => {
  const home = folder.path
  describeApplication('on SQLite', skip, () => onSqlite(charts, home))
  describeApplication('on PostgreSQL', skipShell, () => onPostgres(charts, home, postgres.url))
  describeApplication('on Kubernetes', skipKubernetes, () => onKubernetes(charts, home, cluster))

  it('writes nothing without a leading sidecar, and ends when told', async (t) => {
    const setting = await onSqlite(charts, home)
    const alone = startApplication(t, setting, `127.0.0.1:${await freePort()}`)
    const standIn = new StandIn(() => ({ body: leadership() }))
    t.after(() => standIn.stop())
    const follower = startApplication(t, setting, await standIn.start())
    await until('it asked twice', () => (standIn.asked.length > 1 ? true : null))
    for (const one of [alone, follower]) {
      one.child.kill('SIGTERM')
      assert.equal(await one.exited(), 0)
      assert.deepEqual(said(one), [])
    }
  })
})

describe('the plain form', { skip }, () => {
  it('gives the lease back by its hook, while the application ends: Kubernetes tells both at once', async (t) => {
    const setting = await onSqlite(charts, folder.path)
    const manifests = await charts.render(valuesFor('sqlite', 'plain', { applicationStop: '10s' }))
    const { env, lifecycle } = sidecarOf(podOf(only(manifests, 'Deployment')))
    const drain = env?.find(({ name }) => name === 'TENURE_DRAIN')?.value ?? ''
    const pod = await startPod(t, 'one', setting, ['--drain', drain])
    await writes(pod.application, 1)
    const [, , ...hook] = lifecycle?.preStop.exec.command ?? []
    const ended = tenure(hook, { TENURE_LISTEN: `127.0.0.1:${pod.beside.port}` })
    pod.application.child.kill('SIGTERM')
    assert.equal(await pod.application.exited(), 0, pod.application.stderr)
    assert.equal((await ended).code, 0, (await ended).stderr)
    assert.equal((await pod.beside.report())?.current?.holder ?? null, null)
    pod.beside.kill('SIGTERM')
    assert.equal(await pod.beside.exited(), 0)
  })
})

describe('the test of the release', { skip }, () => {
  const hosts = ['127.0.0.1', '127.0.0.2', '127.0.0.3']

  async function judge(
    t: TestContext,
    stores: readonly string[],
  ): Promise<{ code: number | null; lines: readonly string[] }> {
    const { manifests, scripts } = await onSqlite(charts, folder.path)
    const port = await freePort()
    await Promise.all(
      hosts.map((host, index) => {
        const store = join(scripts, `${stores[index]}.db`)
        return sidecar(t, host, [
          '--store',
          `sqlite:${store}`,
          '--ttl',
          '2s',
          '--ops-listen',
          `${host}:${port}`,
        ])
      }),
    )
    const pod = only(manifests, 'Pod') as unknown as { readonly spec: PodSpec }
    const [container] = pod.spec.containers
    assert.ok(container !== undefined)
    const asking = startContainer(t, container, { scripts }, [String(port), '3', ...hosts])
    return { code: await asking.exited(), lines: asking.lines }
  }

  it('passes when exactly one of the pods leads', async (t) => {
    const { code, lines } = await judge(t, ['a', 'a', 'a'])
    assert.equal(code, 0, lines.join('\n'))
    assert.deepEqual(JSON.parse(lines.at(-1) ?? ''), { pods: 3, leaders: 1 })
  })

  it('fails when two do', async (t) => {
    const { code, lines } = await judge(t, ['a', 'b', 'b'])
    assert.equal(code, 1, lines.join('\n'))
    assert.deepEqual(JSON.parse(lines.at(-1) ?? ''), { pods: 3, leaders: 2 })
  })
})
