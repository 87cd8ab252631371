/** What may come to a leader that has promised something to its application. */
import assert from 'node:assert/strict'
import type { SidecarProcess } from '../support/sidecar.ts'

interface Interference {
  readonly name: string
  readonly meanwhile: (leader: SidecarProcess, generation: number) => Promise<unknown>
}

export const INTERFERENCES: readonly Interference[] = [
  { name: 'it resigns', meanwhile: (leader) => leader.post('/v1/resign', {}) },
  {
    name: 'it resigns, and drained comes for other generations',
    meanwhile: async (leader, generation) => {
      await leader.post('/v1/resign', { holdOff: '1s' })
      const others = [generation - 1, generation + 1].filter((other) => other > 0)
      for (const other of others) {
        assert.equal((await leader.post('/v1/drained', { generation: other }))?.status, 409)
      }
    },
  },
  {
    name: 'SIGTERM',
    meanwhile: async (leader) => {
      leader.kill('SIGTERM')
    },
  },
  {
    name: 'resigned, then SIGTERM twice',
    meanwhile: async (leader) => {
      await leader.post('/v1/resign', {})
      leader.kill('SIGTERM')
      await leader.leadership()
      leader.kill('SIGTERM')
    },
  },
  {
    name: 'SIGTERM, then another signal',
    meanwhile: async (leader) => {
      leader.kill('SIGTERM')
      await leader.leadership()
      leader.kill('SIGINT')
    },
  },
  {
    name: 'SIGKILL',
    meanwhile: async (leader) => {
      leader.kill('SIGKILL')
    },
  },
]
