/** Below so many, items that nothing hangs on any more are not worth a sweep. */
const STALE_LEAST = 64

interface Entry<T> {
  readonly dueMs: number
  readonly item: T
}

/** What is due at some time, the earliest first: a binary heap. Nothing fires; whoever comes along takes it. */
export class DueQueue<T> {
  #heap: Entry<T>[] = []

  add(dueMs: number, item: T): void {
    const heap = this.#heap
    let at = heap.push({ dueMs, item }) - 1
    while (at > 0) {
      const parent = (at - 1) >> 1
      if (this.#dueAt(parent) <= dueMs) break
      this.#swap(at, parent)
      at = parent
    }
  }

  /** Takes one item that is due at `nowMs`, the earliest; undefined when none is. */
  take(nowMs: number): T | undefined {
    const [first] = this.#heap
    if (first === undefined || first.dueMs > nowMs) return undefined
    const last = this.#heap.pop()
    if (last !== undefined && last !== first) {
      this.#heap[0] = last
      this.#sink()
    }
    return first.item
  }

  /** Drops the items that nothing hangs on any more, once they are more than the `alive` ones. */
  sweep(alive: number, isAlive: (item: T) => boolean): void {
    if (this.#heap.length <= 2 * alive + STALE_LEAST) return
    // A sorted list is a heap.
    this.#heap = this.#heap.filter(({ item }) => isAlive(item)).sort((a, b) => a.dueMs - b.dueMs)
  }

  #sink(): void {
    for (let at = 0; ; ) {
      const left = 2 * at + 1
      const least = this.#dueAt(left + 1) < this.#dueAt(left) ? left + 1 : left
      if (this.#dueAt(least) >= this.#dueAt(at)) return
      this.#swap(at, least)
      at = least
    }
  }

  #dueAt(at: number): number {
    return this.#heap[at]?.dueMs ?? Number.POSITIVE_INFINITY
  }

  #swap(a: number, b: number): void {
    const heap = this.#heap
    const held = heap[a] as Entry<T>
    heap[a] = heap[b] as Entry<T>
    heap[b] = held
  }
}
