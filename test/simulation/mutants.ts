/**
 * Planted bugs: the mistakes that electors of this kind are known for, as patches of the real source. The
 * simulator has to catch each of them, or it proves nothing.
 */
export interface Patch {
  /** Path from the root of the repository. */
  readonly file: string
  /** Stands in that file exactly once; otherwise the patch is out of date and the run fails. */
  readonly find: string
  readonly replace: string
}

export interface Mutant {
  readonly name: string
  readonly patches: readonly Patch[]
}

const following = 'src/election/following.ts'
const leading = 'src/election/leading.ts'
const draining = 'src/election/draining.ts'
const election = 'src/election/election.ts'
const server = 'test/simulation/lease-server.ts'

export const MUTANTS: readonly Mutant[] = [
  {
    name: 'the deadline of a grant counts from the reply',
    patches: [
      {
        file: following,
        find: 'actUntil: actUntil(request.sentAt, timing.ttlMs',
        replace: 'actUntil: actUntil(turn.now, timing.ttlMs',
      },
    ],
  },
  {
    name: 'the deadline of a renewal counts from the reply',
    patches: [{ file: leading, find: 'actUntil(request.sentAt', replace: 'actUntil(turn.now' }],
  },
  {
    name: 'there is no margin',
    patches: [
      { file: 'src/election/tenure.ts', find: 'ttlMs - marginMs)', replace: 'ttlMs + 0 * marginMs)' },
    ],
  },
  {
    name: 'a late reply revives a tenure that is over',
    patches: [
      {
        file: 'src/election/step.ts',
        find: 'const settled = settle(machine, turn)',
        replace: 'const settled = machine',
      },
    ],
  },
  {
    name: 'a cached boolean answers, and a timer clears it',
    patches: [
      { file: election, find: 'if (!due) return now', replace: 'if (!due || due) return now' },
      {
        file: 'src/election/describe.ts',
        find: "machine.phase.state === 'leading' ? actForMs(machine.phase.tenure, now) : 0",
        replace: "machine.phase.state === 'leading' ? 1e4 : 0",
      },
    ],
  },
  {
    name: 'now() stands still between steps',
    patches: [
      {
        file: election,
        find: 'const now = this.#parts.clock.now()\n    const { state }',
        replace: 'const now = this.then ?? this.#parts.clock.now()\n    const { state }',
      },
      {
        file: election,
        find: 'const input = { now: clock.now(), random: clock.random() }',
        replace: 'const input = { now: clock.now(), random: clock.random() }\n    this.then = input.now',
      },
    ],
  },
  {
    name: 'suspend is not noticed',
    patches: [
      {
        file: 'src/clock/clock.ts',
        find: `  return Math.min(
    deadline.steadyMs - now.steadyMs,
    deadline.bootMs - now.bootMs,
    deadline.wallMs - now.wallMs,
  )`,
        replace: '  return deadline.steadyMs - now.steadyMs',
      },
    ],
  },
  {
    name: 'a release does not wait for the promise',
    patches: [
      {
        file: draining,
        find: 'if (!due || promisedForMs(machine.promises, turn.now) > 0) return machine',
        replace: 'if (!due) return machine',
      },
    ],
  },
  {
    name: 'drained is not scoped to a generation',
    patches: [
      {
        file: election,
        find: 'if (held?.generation !== generation)',
        replace: 'if (held === null)',
      },
      {
        file: 'src/election/step.ts',
        find: 'if (phase.tenure.generation !== generation) return machine',
        replace: 'void generation',
      },
    ],
  },
  {
    name: 'draining still answers "leading"',
    patches: [
      {
        file: 'src/election/describe.ts',
        find: "return machine.phase.state === 'leading' ? actForMs(machine.phase.tenure, now) : 0",
        replace: "return 'tenure' in machine.phase ? actForMs(machine.phase.tenure, now) : 0",
      },
      {
        file: 'src/election/describe.ts',
        find: "phase.state === 'leading' && actFor > 0",
        replace: "'tenure' in phase && actFor > 0",
      },
    ],
  },
  {
    name: 'a renewal bumps the generation',
    patches: [
      {
        file: server,
        find: "this.#write('renew', key.session, {\n      ...row,",
        replace: "this.#write('renew', key.session, {\n      ...row, generation: row.generation + 1,",
      },
    ],
  },
  {
    name: 'an acquire ignores above',
    patches: [{ file: server, find: 'row.generation > options.above || ', replace: '' }],
  },
  {
    name: 'an acquire adopts the tenure of its own session',
    patches: [
      {
        file: server,
        find: 'const generation = Math.max(row.generation, options.above) + jump',
        replace:
          "if (row.session === who.session) return { kind: 'granted', generation: row.generation, leaderlessMs: 0 }\n    const generation = Math.max(row.generation, options.above) + jump",
      },
      { file: 'src/election/requests.ts', find: 'generation > above &&', replace: '' },
      { file: server, find: 'row.generation > options.above || ', replace: '' },
    ],
  },
  {
    name: 'a release is not scoped to a tenure',
    patches: [
      {
        file: server,
        find: "if (!ours) return { kind: 'lost' }\n    this.#write('release'",
        replace: "void ours\n    this.#write('release'",
      },
    ],
  },
  {
    name: 'a renewal revives an expired lease',
    patches: [{ file: server, find: 'if (!ours || row.expiresAt <= now)', replace: 'if (!ours)' }],
  },
  {
    name: 'a promoted server is trusted at once',
    patches: [{ file: server, find: 'row.lineage !== this.#lineage || ', replace: '' }],
  },
  {
    name: 'a promotion does not jump the generation',
    patches: [
      {
        file: server,
        find: 'promotions === 0 ? 1 : LINEAGE_JUMP *',
        replace: 'promotions >= 0 ? 1 : LINEAGE_JUMP *',
      },
    ],
  },
  {
    name: 'what another server showed counts as observed',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is source text
    patches: [{ file: server, find: ' at ${this.#lineage}`', replace: '`' }],
  },
]
