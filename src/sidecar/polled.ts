import type { Election } from '../election/election.ts'
import type { Answer } from '../election/status.ts'
import type { ElectionHandle } from '../http/elections.ts'
import type { RequiredPolls } from './app-health.ts'

/** An election that takes note when its application asks. */
export class Polled implements ElectionHandle {
  readonly #election: Election
  readonly #polls: RequiredPolls

  constructor(election: Election, polls: RequiredPolls) {
    this.#election = election
    this.#polls = polls
  }

  get name(): string {
    return this.#election.name
  }

  answer(): Answer {
    this.#polls.polled()
    return this.#election.answer()
  }

  status: ElectionHandle['status'] = () => this.#election.status()
  resign: ElectionHandle['resign'] = (holdOffMs) => this.#election.resign(holdOffMs)
  drained: ElectionHandle['drained'] = (generation) => this.#election.drained(generation)
  history: ElectionHandle['history'] = () => this.#election.history()
  onTransition: ElectionHandle['onTransition'] = (listen) => this.#election.onTransition(listen)
}
