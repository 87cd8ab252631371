/** What the schemas are built from. */
import * as z from 'zod/mini'
import { GENERATION_LIMIT } from '../election/tenure.ts'

export const generation = z.int().check(z.gte(1), z.lte(GENERATION_LIMIT - 1))
export const milliseconds = z.int().check(z.gte(0))
export const time = z.iso.datetime()

/** A schema with a sentence for people who read the document. */
export function told<S extends z.ZodMiniType>(schema: S, description: string): S {
  return schema.check(z.describe(description))
}

export const error = z.strictObject({
  code: told(z.string(), 'For programs'),
  message: told(z.string(), 'For people: the input, the rule and the remedy'),
})
