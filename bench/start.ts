/** From starting the bundled sidecar to its first answer, against `node -e 0`, in turns. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { ask, bundledSidecar, median, print, temporary } from './rig.ts'

const ROUNDS = 11

async function bareMs(): Promise<number> {
  const begin = performance.now()
  await once(spawn(process.execPath, ['-e', '0'], { stdio: 'ignore' }), 'exit')
  return performance.now() - begin
}

async function answerMs(path: string): Promise<number> {
  const begin = performance.now()
  const sidecar = await bundledSidecar(['--store', `sqlite:${path}/lease.db`])
  await ask(sidecar.port, '/v1/leadership')
  const tookMs = performance.now() - begin
  await sidecar.stop()
  return tookMs
}

export async function start(): Promise<void> {
  const folder = temporary()
  const bare: number[] = []
  const ours: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    bare.push(await bareMs())
    ours.push(await answerMs(folder.path))
  }
  folder.remove()
  const limitMs = 2 * median(bare) + 150
  print(
    `start to first answer: ${median(ours).toFixed(0)} ms; node -e 0: ${median(bare).toFixed(0)} ms; 2 × that + 150 ms: ${limitMs.toFixed(0)} ms`,
  )
}
