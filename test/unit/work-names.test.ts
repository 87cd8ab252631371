import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { parseTable, parseTables, quoteName, quoteTable } from '../../src/work/names.ts'
import { inMs, Parameters, sql } from '../../src/work/sql.ts'
import { claimedAt } from '../../src/work/token.ts'

describe('the name of a table', () => {
  it('is taken as it stands, and looked for in public where no schema is named', () => {
    assert.deepEqual(parseTable('jobs'), { schema: 'public', name: 'jobs' })
    assert.deepEqual(parseTable('app.Jobs'), { schema: 'app', name: 'Jobs' })
    assert.deepEqual(parseTable('"a.b"."c""d"'), { schema: 'a.b', name: 'c"d' })
    assert.deepEqual(parseTable('"x,y"'), { schema: 'public', name: 'x,y' })
  })

  it('may be one of several', () => {
    assert.deepEqual(parseTables('jobs,app."x,y",z').map(quoteTable), [
      '"public"."jobs"',
      '"app"."x,y"',
      '"public"."z"',
    ])
  })

  it('that is none is a TypeError which names it', () => {
    for (const text of [
      '',
      '.',
      'a.',
      '.a',
      'a.b.c',
      '"a',
      'a"b',
      '""',
      ',',
      'a,',
      'x'.repeat(64),
      'a.b\0',
    ]) {
      assert.throws(() => parseTable(text), { name: 'TypeError', message: /^(table|name) "/ }, text)
    }
    assert.throws(() => parseTable('a,b'), TypeError)
  })

  it('comes back from its quoted form, whatever it is', () => {
    const name = fc.string({ minLength: 1, maxLength: 12 }).filter((text) => !text.includes('\0'))
    fc.assert(
      fc.property(name, name, (schema, table) => {
        assert.deepEqual(parseTable(`${quoteName(schema)}.${quoteName(table)}`), { schema, name: table })
      }),
    )
  })
})

describe('a piece of SQL', () => {
  it('turns its values into parameters, those of inner pieces too, in order', () => {
    const parameters = new Parameters()
    assert.equal(parameters.bind('before'), '$1')
    const text = parameters.render(sql`a = ${"1'; DROP"} AND ${sql`b < ${2} OR c`} AND d = ${null}`)
    assert.equal(text, 'a = $2 AND b < $3 OR c AND d = $4')
    assert.deepEqual(parameters.values, ['before', "1'; DROP", 2, null])
  })

  it('has no undefined value, and no time that is no number', () => {
    assert.throws(() => new Parameters().render(sql`a = ${undefined}`), /undefined/)
    assert.throws(() => inMs(Number.NaN), /a length of time is a number/)
  })
})

it('a token tells when its claim began', () => {
  assert.equal(claimedAt('019a0000-0000-7abc-8def-0123456789ab'), new Date(0x019a_0000_0000).toISOString())
})
