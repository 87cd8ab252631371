/** `/leader` and `/v1/leadership` against bare node:http with a body of the same length, in turns. */
import autocannon from 'autocannon'
import { ask, bareServer, bundledSidecar, leads, median, print, temporary } from './rig.ts'

const ROUNDS = 5
const SECONDS = 4
const CONNECTIONS = 16

async function requestsPerSecond(port: number, path: string): Promise<number> {
  const { requests, errors, non2xx } = await autocannon({
    url: `http://127.0.0.1:${port}${path}`,
    connections: CONNECTIONS,
    duration: SECONDS,
    workers: 1,
  })
  if (errors + non2xx > 0) throw new Error(`${path}: ${errors} errors, ${non2xx} answers other than 2xx`)
  return requests.average
}

export async function throughput(): Promise<void> {
  const folder = temporary()
  const sidecar = await bundledSidecar(['--store', `sqlite:${folder.path}/lease.db`])
  const { body } = await leads(sidecar.port)
  const bare = await bareServer(body.length)
  try {
    for (const path of ['/leader', '/v1/leadership']) {
      const ratios: number[] = []
      const rates: string[] = []
      // One short round first, so that neither is measured cold.
      for (let round = -1; round < ROUNDS; round++) {
        const bareRate = await requestsPerSecond(bare.port, '/')
        const ourRate = await requestsPerSecond(sidecar.port, path)
        if (round < 0) continue
        ratios.push(ourRate / bareRate)
        rates.push(`${Math.round(ourRate)}/${Math.round(bareRate)}`)
      }
      const last = await ask(sidecar.port, path)
      if (last.status !== 200) throw new Error(`${path} answers ${last.status}`)
      print(`${path}: ${median(ratios).toFixed(2)} × bare node:http (requests/s ${rates.join(', ')})`)
    }
  } finally {
    await Promise.all([sidecar.stop(), bare.stop()])
    folder.remove()
  }
}
