/** The bare baseline: node:http, the headers that the sidecar sends, and a body of the same length. */
import { createServer } from 'node:http'

const body = Buffer.alloc(Number(process.env.BODY_BYTES ?? 430), 'x')
const headers = {
  'Content-Type': 'application/json; charset=utf-8',
  'Cache-Control': 'no-store',
  'Content-Length': body.length,
}
const server = createServer((_request, response) => {
  response.writeHead(200, headers)
  response.end(body)
})
server.listen(0, '127.0.0.1', () => process.stdout.write(`${server.address().port}\n`))
