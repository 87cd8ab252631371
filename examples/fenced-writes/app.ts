/**
 * The application: it asks its sidecar, and writes the report under what it was told, when it is told to. It is
 * deliberately naive: between the answer and the write it may stand still for any time.
 */
import pg from 'pg'
import { type Check, TenureClient } from 'tenure/client'
import { withGuard } from 'tenure/fencing'

const UPDATE = 'UPDATE fenced_writes_report SET note = $1 WHERE id = 1'

export type Order =
  | { readonly what: 'ask' }
  | { readonly what: 'write'; readonly fenced: boolean; readonly note: string }

export type Answer =
  | { readonly leading: boolean; readonly generation: number | null; readonly message: string }
  | { readonly written: boolean; readonly by: string | null; readonly generation: number | null }

const client = new TenureClient({ url: process.env.TENURE_URL ?? 'http://127.0.0.1:4040' })
const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL })
let known: Check | null = null

async function ask(): Promise<Answer> {
  known = await client.check()
  if (known.leading) return { leading: true, generation: known.tenure.generation, message: 'leading' }
  return { leading: false, generation: null, message: known.message }
}

async function write({ fenced, note }: { fenced: boolean; note: string }): Promise<Answer> {
  if (!known?.leading) throw new Error('told to write without a tenure')
  // What many write: it was leading a moment ago, was it not?
  if (!fenced) {
    await pool.query(UPDATE, [note])
    return { written: true, by: null, generation: null }
  }
  const result = await withGuard(pool, known.tenure, (connection) => connection.query(UPDATE, [note]))
  if (result.ok) return { written: true, by: null, generation: null }
  return {
    written: false,
    by: result.current?.holder ?? null,
    generation: result.current?.generation ?? null,
  }
}

process.on('message', async (order: Order) => {
  const answer = order.what === 'ask' ? await ask() : await write(order)
  process.send?.(answer)
})
process.on('disconnect', () => process.exit())
process.send?.('ready')
