/** One step of one alert: apply it under its token, and only then deliver. */
import type pg from 'pg'
import { type Item, inMs, type WorkTable } from 'tenure/work'
import type { Alert } from './alerts.ts'
import { type Delivery, deliver } from './deliver.ts'
import type { Rung } from './ladder.ts'

export interface Runner {
  readonly name: string
  readonly pool: pg.Pool
  readonly work: WorkTable<Alert>
  readonly ladder: readonly Rung[]
}

/** What became of the step; anything but a delivery means that nothing was sent. */
export type Climbed = Delivery['outcome'] | 'not applied'

export async function climb(runner: Runner, item: Item<Alert>): Promise<Climbed> {
  const rung = runner.ladder[item.row.step]
  if (rung === undefined) throw new Error(`alert ${item.key}: the ladder has no step ${item.row.step}`)
  if (!(await applyStep(runner, item, rung))) return 'not applied'
  const { title, step } = item.row
  const page = { token: item.token, alertId: item.key, title, step, person: rung.person }
  const { outcome, detail } = await deliver(page, rung.channel)
  await runner.pool.query(`UPDATE escalation.delivery SET outcome = $2, detail = $3 WHERE token = $1`, [
    item.token,
    outcome,
    detail,
  ])
  return outcome
}

/**
 * The step and its delivery are written together, or neither is. True only once that has committed. Where the reply
 * to the COMMIT is lost it throws: nothing is sent, and the delivery is listed if it was committed after all.
 */
async function applyStep(
  { name, pool, work, ladder }: Runner,
  item: Item<Alert>,
  rung: Rung,
): Promise<boolean> {
  const client = await pool.connect()
  try {
    await client.query('BEGIN')
    const step = item.row.step + 1
    const { result } = await work.apply(client, item, {
      set: { step, due_at: step < ladder.length ? inMs(rung.waitMs) : null },
      where: { firing: true },
    })
    if (result !== 'applied') {
      await client.query('ROLLBACK')
      // It stopped firing since it was claimed: nothing is due any more.
      if (result === 'unmet') await work.release(client, item)
      client.release()
      return false
    }
    await client.query(
      `INSERT INTO escalation.delivery (token, alert_id, step, person, channel, runner)
      VALUES ($1, $2, $3, $4, $5, $6)`,
      [item.token, item.key, item.row.step, rung.person, rung.channel.name, name],
    )
    await client.query('COMMIT')
    client.release()
    return true
  } catch (error) {
    client.release(true)
    throw error
  }
}
