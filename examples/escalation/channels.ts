/**
 * The channels of the demonstration: `node examples/escalation/channels.ts`. Every fifth call to /phone is taken and
 * never answered, as real ones do.
 */
import { createServer } from 'node:http'

const PORT = 4170
const HANGS_EVERY = 5

let calls = 0

createServer(async (request, response) => {
  let body = ''
  for await (const chunk of request) body += chunk
  const hangs = request.url === '/phone' && ++calls % HANGS_EVERY === 0
  process.stdout.write(`${request.url}${hangs ? ' (hangs)' : ''} ${body}\n`)
  if (!hangs) response.end()
}).listen(PORT, '127.0.0.1')
