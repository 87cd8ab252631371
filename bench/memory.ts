/** Memory of the bundled sidecar, leading and asked once a second, against a bare node:http server asked the same. */
import { ask, bareServer, bundledSidecar, leads, type Measured, memoryOf, print, temporary } from './rig.ts'

const ASKED = 30
const EVERY_MS = 200

async function settle(server: Measured, paths: readonly string[]): Promise<void> {
  for (let time = 0; time < ASKED; time++) {
    for (const path of paths) await ask(server.port, path)
    await new Promise((resolve) => setTimeout(resolve, EVERY_MS))
  }
}

type Memory = ReturnType<typeof memoryOf>

/** What a bare server takes. */
export async function bareMemory(): Promise<Memory> {
  const bare = await bareServer(430)
  await settle(bare, ['/'])
  const base = memoryOf(bare.child)
  await bare.stop()
  print(`bare node:http: ${base.residentKb} kB resident, ${base.anonymousKb} kB anonymous`)
  return base
}

/** What a leading sidecar takes, against `base`. */
export async function sidecarMemory(
  name: string,
  base: Memory,
  args: readonly string[],
  environment: NodeJS.ProcessEnv = {},
): Promise<void> {
  const sidecar = await bundledSidecar(args, environment)
  await leads(sidecar.port)
  await settle(sidecar, ['/v1/leadership', '/leader', '/metrics'])
  const ours = memoryOf(sidecar.child)
  await sidecar.stop()
  const resident = (ours.residentKb / base.residentKb).toFixed(2)
  const anonymous = (ours.anonymousKb / base.anonymousKb).toFixed(2)
  print(
    `${name}: ${ours.residentKb} kB resident (${resident} ×), ${ours.anonymousKb} kB anonymous (${anonymous} ×)`,
  )
}

export async function memory(postgresUrl: string): Promise<void> {
  const folder = temporary()
  const base = await bareMemory()
  await sidecarMemory('sqlite', base, ['--store', `sqlite:${folder.path}/lease.db`])
  await sidecarMemory('postgres', base, ['--store', postgresUrl])
  folder.remove()
}
