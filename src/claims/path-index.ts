/** A trie over path segments: what overlaps a path is found without looking at what does not. */
import type { ClaimPath } from './path.ts'

/** Something that stands at a path and belongs to somebody. */
export interface Placed {
  readonly path: ClaimPath
  readonly owner: string
}

class Node<T> {
  readonly items: T[] = []
  readonly children = new Map<string, Node<T>>()
  /** How many items each owner has here and below, so that a tree of one's own is passed by unopened. */
  readonly owners = new Map<string, number>()

  count(owner: string, change: 1 | -1): void {
    const count = (this.owners.get(owner) ?? 0) + change
    if (count === 0) this.owners.delete(owner)
    else this.owners.set(owner, count)
  }

  /** Whether anything here or below belongs to somebody else. */
  hasOthers(owner: string | null): boolean {
    return this.owners.size > (owner !== null && this.owners.has(owner) ? 1 : 0)
  }
}

interface Around<T> {
  readonly above: readonly Node<T>[]
  readonly whole: readonly Node<T>[]
}

export class PathIndex<T extends Placed> {
  readonly #absolute = new Node<T>()
  readonly #relative = new Node<T>()

  add(item: T): void {
    const { path, owner } = item
    let node = this.#root(path)
    node.count(owner, 1)
    for (const segment of path.segments) {
      let child = node.children.get(segment)
      if (child === undefined) {
        child = new Node()
        node.children.set(segment, child)
      }
      child.count(owner, 1)
      node = child
    }
    node.items.push(item)
  }

  /** Takes an item out that was added, and the branches that nothing is left on. */
  remove(item: T): void {
    const { path, owner } = item
    let node = this.#root(path)
    node.count(owner, -1)
    for (const segment of path.segments) {
      const child = node.children.get(segment)
      if (child === undefined) throw new Error(`BUG: ${path.key} is not in the index`)
      child.count(owner, -1)
      if (child.owners.size === 0) {
        node.children.delete(segment)
        return
      }
      node = child
    }
    node.items.splice(node.items.indexOf(item), 1)
  }

  /** How many items an owner has. */
  countOf(owner: string): number {
    return (this.#absolute.owners.get(owner) ?? 0) + (this.#relative.owners.get(owner) ?? 0)
  }

  /** What stands at the path or above it, the highest first. */
  *above(path: ClaimPath): Generator<T> {
    let node: Node<T> | undefined = this.#root(path)
    yield* node.items
    for (const segment of path.segments) {
      node = node.children.get(segment)
      if (node === undefined) return
      yield* node.items
    }
  }

  /**
   * Everything of others that overlaps a path: at it, above it, below it, and whatever is absolute where the path
   * is relative, or relative where it is absolute. `owner` null: everything of everybody.
   */
  *overlapping(path: ClaimPath, owner: string | null): Generator<T> {
    const { above, whole } = this.#around(path)
    for (const node of above) yield* othersOf(node.items, owner)
    for (const node of whole) yield* below(node, owner)
  }

  /** Whether anything of others overlaps a path. It costs the depth of the path, however much that is. */
  hasOthers(path: ClaimPath, owner: string): boolean {
    const { above, whole } = this.#around(path)
    return (
      whole.some((node) => node.hasOthers(owner)) ||
      above.some(({ items }) => items.some((item) => item.owner !== owner))
    )
  }

  /** Whether anything of one owner overlaps a path, as cheaply. */
  hasOf(path: ClaimPath, owner: string): boolean {
    const { above, whole } = this.#around(path)
    return (
      whole.some(({ owners }) => owners.has(owner)) ||
      above.some(({ items }) => items.some((item) => item.owner === owner))
    )
  }

  /** The owners of what overlaps a path; one may be named several times. */
  *ownersAt(path: ClaimPath): Generator<string> {
    const { above, whole } = this.#around(path)
    for (const { items } of above) yield* new Set(items.map(({ owner }) => owner))
    for (const { owners } of whole) yield* owners.keys()
  }

  /** The nodes that overlap a path: above it with their own items alone, the others with all below them. */
  #around(path: ClaimPath): Around<T> {
    const above: Node<T>[] = []
    const whole = [path.absolute ? this.#relative : this.#absolute]
    let node: Node<T> | undefined = this.#root(path)
    for (const segment of path.segments) {
      above.push(node)
      node = node.children.get(segment)
      if (node === undefined) return { above, whole }
    }
    return { above, whole: [node, ...whole] }
  }

  #root(path: ClaimPath): Node<T> {
    return path.absolute ? this.#absolute : this.#relative
  }
}

/** Branch by branch, so that whoever wants the first item alone does not pay for all the children. */
function* below<T extends Placed>(top: Node<T>, owner: string | null): Generator<T> {
  const branches: Iterator<Node<T>>[] = [[top].values()]
  for (let branch = branches.at(-1); branch !== undefined; branch = branches.at(-1)) {
    const { value: node, done } = branch.next()
    if (done) branches.pop()
    else if (node.hasOthers(owner)) {
      yield* othersOf(node.items, owner)
      branches.push(node.children.values())
    }
  }
}

function* othersOf<T extends Placed>(items: readonly T[], owner: string | null): Generator<T> {
  for (const item of items) if (item.owner !== owner) yield item
}
