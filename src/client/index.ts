/** `tenure/client`: for applications that stand beside a sidecar. See docs/clients.md. */
export type { Leading, NotLeading, NotLeadingReason } from './check.ts'
export { type Check, NotLeadingError } from './check.ts'
export { TenureClient } from './client.ts'
export type { HeldTenure } from './held.ts'
export type { LossReason } from './keep.ts'
export type { ClientOptions } from './options.ts'
export type { RunFunction, RunOptions, RunOutcome, RunTenure, Work } from './run.ts'
export { TenureLostError } from './run.ts'
