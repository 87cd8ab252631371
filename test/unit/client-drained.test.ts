import assert from 'node:assert/strict'
import { test } from 'node:test'
import { settle } from '../support/clock.ts'
import { until } from '../support/sidecar.ts'
import { type Asked, type Bench, bench, leading, OTHER_SESSION } from './client-fixtures.ts'

/** A run that has returned, up to its call of drained. */
async function ended({ respondent, client }: Bench): Promise<{ outcome: Promise<unknown>; drained: Asked }> {
  const outcome = client.run(() => 'done')
  const asked = await respondent.next('plain')
  asked.reply(leading())
  return { outcome, drained: await respondent.next('drained') }
}

test('a call of drained that is never answered holds a run up no longer than its time-out', async (t) => {
  const one = await bench(t)
  const { outcome } = await ended(one)
  one.clock.advance(499)
  await settle()
  one.clock.advance(1)
  assert.deepEqual((await outcome) as object, {
    ended: 'returned',
    tenure: { election: 'default', session: leading().session, generation: 7 },
    value: 'done',
  })
  assert.equal(one.clock.timers, 0)
})

for (const [what, body, status] of [
  ['another generation is held', { error: { code: 'stale_generation', message: 'x' }, current: 9 }, 409],
  ['it is forbidden', { error: { code: 'foreign_host', message: 'x' } }, 403],
  ['something else answers', 'hello', 200],
] as const) {
  test(`drained is tolerant of its answer: ${what}`, async (t) => {
    const one = await bench(t)
    const { outcome, drained } = await ended(one)
    drained.reply(body, status)
    assert.equal(((await outcome) as { ended: string }).ended, 'returned')
    assert.equal(one.respondent.count('drained'), 1)
  })
}

test('a run beside other processes does not speak for them: told so, it sends no drained', async (t) => {
  const { client, respondent } = await bench(t)
  const outcome = client.run(() => 'done', { drained: false })
  const asked = await respondent.next('plain')
  asked.reply(leading())
  assert.equal((await outcome).ended, 'returned')
  assert.equal(respondent.count('drained'), 0)
})

test('a connection that breaks under drained is tried again, a few times', async (t) => {
  const one = await bench(t)
  const { outcome, drained } = await ended(one)
  drained.hangUp()
  const drive = async (): Promise<Asked> => {
    const before = one.respondent.count('drained')
    await until('it is tried again', async () => {
      await one.clock.elapse(10)
      return one.respondent.count('drained') > before ? true : null
    })
    return one.respondent.next('drained')
  }
  const second = await drive()
  second.hangUp()
  const third = await drive()
  third.hangUp()
  await outcome
  assert.equal(one.respondent.count('drained'), 3)
  assert.equal(one.clock.timers, 0)
})

// The call timed out and lies in the socket of a sidecar that stands still. It is read later, and releases the
// lease at once, also inside whatever the sidecar promised to the next question.
test('once drained was sent, no answer for that tenure counts, whatever came of the call; it is sent again', async (t) => {
  const one = await bench(t)
  const { outcome } = await ended(one)
  one.clock.advance(500)
  await outcome
  const check = one.client.check()
  const asked = await one.respondent.next('plain')
  asked.reply(leading())
  const again = await one.respondent.next('drained')
  assert.deepEqual(JSON.parse(again.body), { generation: 7 })
  again.reply({})
  const refusal = await check
  assert.ok(!refusal.leading)
  assert.equal(refusal.reason, 'drained')
})

test('a run after drained waits for the next tenure', async (t) => {
  const one = await bench(t)
  const { outcome, drained } = await ended(one)
  drained.reply({})
  await outcome
  const generations: number[] = []
  const next = one.client.run(({ generation }) => generations.push(generation))
  const asked = await one.respondent.next('plain')
  asked.reply(leading())
  const again = await one.respondent.next('drained')
  again.reply({})
  await until('it asks again', async () => {
    await one.clock.elapse(50)
    return one.respondent.count('plain') === 3 ? true : null
  })
  const later = await one.respondent.next('plain')
  later.reply(leading({ generation: 9 }))
  const last = await one.respondent.next('drained')
  last.reply({})
  await next
  assert.deepEqual(generations, [9])
})

test('a tenure of another session counts, also under a smaller generation: a store may have been restored', async (t) => {
  const one = await bench(t)
  const { outcome, drained } = await ended(one)
  drained.reply({})
  await outcome
  const check = one.client.check()
  const asked = await one.respondent.next('plain')
  asked.reply(leading({ generation: 3, session: OTHER_SESSION }))
  assert.equal((await check).leading, true)
})

test('drained ends every tenure that the client gave out under that generation', async (t) => {
  const one = await bench(t)
  const check = one.client.check()
  const asked = await one.respondent.next('plain')
  asked.reply(leading())
  const given = await check
  assert.ok(given.leading && given.tenure.isValid())
  const { outcome, drained } = await ended(one)
  assert.equal(given.tenure.isValid(), false, 'before the call is answered')
  drained.reply({})
  await outcome
})

// The first to return must not give away the lease under the other's hands.
test('of two runs under one tenure the last to settle sends drained', async (t) => {
  const { respondent, client } = await bench(t)
  const works = [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const
  let began = 0
  const runs = works.map(({ promise }) => {
    return client.run(() => {
      began++
      return promise
    })
  })
  for (const _ of runs) {
    const asked = await respondent.next('plain')
    asked.reply(leading())
  }
  await until('both work', () => (began === 2 ? true : null))
  works[0].resolve()
  assert.equal((await runs[0])?.ended, 'returned')
  assert.equal(respondent.count('drained'), 0)
  works[1].resolve()
  const drained = await respondent.next('drained')
  drained.reply({})
  assert.equal((await runs[1])?.ended, 'returned')
  assert.equal(respondent.count('drained'), 1)
})
