import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { DURATION_MOST_MS, formatDuration, parseDuration } from '../../src/config/duration.ts'

function ms(text: string): number {
  const parsed = parseDuration(text)
  assert.ok(parsed.ok, `${text} was refused`)
  return parsed.value
}

function ruleOf(text: string): string {
  const parsed = parseDuration(text)
  assert.ok(!parsed.ok, `${text} was accepted`)
  assert.notEqual(parsed.remedy, '')
  return parsed.rule
}

test('each unit is read in milliseconds', () => {
  assert.deepEqual(
    ['1500ms', '15s', '2m', '1h', '0', '0s'].map(ms),
    [1_500, 15_000, 120_000, 3_600_000, 0, 0],
  )
})

test('fractions are exact where binary fractions would not be', () => {
  assert.deepEqual(
    ['1.5s', '0.25m', '1.001s', '0.1s', '1.10h'].map(ms),
    [1_500, 15_000, 1_001, 100, 3_960_000],
  )
})

test('a bare number is refused, and the remedy writes it with its units', () => {
  const parsed = parseDuration('15')
  assert.ok(!parsed.ok)
  assert.match(parsed.remedy, /15s for seconds or 15ms for milliseconds/)
})

test('what is negative, broken, unitless or too fine is refused for its own reason', () => {
  assert.match(ruleOf('-5s'), /never negative/)
  assert.match(ruleOf('1.0005s'), /whole number of milliseconds/)
  assert.match(ruleOf('0.5ms'), /whole number of milliseconds/)
  assert.match(ruleOf('25h'), /24h at most/)
  assert.match(ruleOf(`${'9'.repeat(40)}s`), /digits at most/)
  for (const text of [
    '',
    's',
    '15 s',
    '15S',
    '15sec',
    '1m30s',
    '1e3s',
    '.5s',
    '5.s',
    ' 5s',
    '5s\n',
    '٣s',
    '+5s',
  ]) {
    assert.match(ruleOf(text), /not a duration/, JSON.stringify(text))
  }
})

test('whatever is formatted reads back as the same duration', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: DURATION_MOST_MS }), (duration) => {
      assert.equal(ms(formatDuration(duration)), duration)
    }),
  )
})

test('a decimal fraction of a unit is read exactly, or refused when it is no whole millisecond', () => {
  const units = { ms: 1n, s: 1_000n, m: 60_000n, h: 3_600_000n }
  fc.assert(
    fc.property(
      fc.nat(20),
      fc.stringMatching(/^\d{1,6}$/),
      fc.constantFrom('ms', 's', 'm', 'h' as keyof typeof units),
      (whole, fraction, unit) => {
        const parsed = parseDuration(`${whole}.${fraction}${unit}`)
        const scale = 10n ** BigInt(fraction.length)
        const scaled = (BigInt(whole) * scale + BigInt(fraction)) * units[unit as keyof typeof units]
        assert.equal(parsed.ok, scaled % scale === 0n)
        if (parsed.ok) assert.equal(BigInt(parsed.value) * scale, scaled)
      },
    ),
  )
})

test('no text makes the reader throw', () => {
  fc.assert(fc.property(fc.string(), (text) => typeof parseDuration(text).ok === 'boolean'))
})
