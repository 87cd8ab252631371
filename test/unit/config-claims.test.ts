import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { faultOf, load } from '../support/config.ts'

test('claims are off unless asked for, and belong to no election unless asked for', async () => {
  const plain = (await load()).values
  assert.deepEqual([plain.claims, plain.claimsWhileLeading], [false, null])
  const on = (await load('--claims')).values
  assert.deepEqual([on.claims, on.claimsWhileLeading], [true, null])
})

test('with one election the switch needs no name, and a name is taken as well', async () => {
  const line = '--claims --election blue'
  assert.equal((await load(`${line} --claims-while-leading`)).values.claimsWhileLeading, 'blue')
  assert.equal((await load(`${line} --claims-while-leading=blue`)).values.claimsWhileLeading, 'blue')
  assert.equal((await load(`${line} --claims-while-leading=false`)).values.claimsWhileLeading, null)
  const environment = { TENURE_CLAIMS: 'true', TENURE_CLAIMS_WHILE_LEADING: 'true' }
  assert.equal((await load('', environment)).values.claimsWhileLeading, 'default')
})

test('with several elections the switch has to name one that runs here', async () => {
  const line = '--claims --election blue --election green'
  assert.equal((await load(`${line} --claims-while-leading=green`)).values.claimsWhileLeading, 'green')
  assert.match(
    await faultOf(`${line} --claims-while-leading`),
    /"blue", "green".*--claims-while-leading=NAME/,
  )
  assert.match(await faultOf(`${line} --claims-while-leading=red`), /"red" does not run here/)
})

test('what could never keep a claim stops the start', async () => {
  assert.match(await faultOf('--claims-while-leading'), /without --claims/)
  assert.match(await faultOf('--claims --claims-while-leading --observer'), /an observer never leads/)
})

test('a name after a space is no name of the switch, and is not taken silently', async () => {
  assert.match(await faultOf('--claims --claims-while-leading blue'), /argument "blue"/)
})

test('a file may carry the switch or a name', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'tenure-config-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const path = join(folder, 'tenure.yaml')
  const read = async (text: string) => {
    writeFileSync(path, text)
    return (await load(['--config', path])).values.claimsWhileLeading
  }
  assert.equal(await read('claims: true\nclaims-while-leading: true\n'), 'default')
  assert.equal(await read('claims: true\nelection: [a, b]\nclaims-while-leading: b\n'), 'b')
  assert.equal(await read('claims: true\nclaims-while-leading: false\n'), null)
})
