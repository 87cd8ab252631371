/** The OpenAPI document, made from the routes and the schemas that the server itself uses. */
import * as z from 'zod/mini'
import { CALL_HEADER } from './guards.ts'
import type { Answering, Route } from './route.ts'
import { ROUTES } from './routes.ts'
import { SCHEMAS } from './schemas.ts'

const PARAMETERS = {
  election: { schema: { type: 'string' }, description: 'Which election; needed where several run here' },
  after: { schema: { type: 'string' }, description: 'The revision that the caller knows: wait for another' },
  wait: {
    schema: { type: 'string', default: '30s' },
    description: 'How long to wait at most, with a unit; cut to 60s',
  },
  path: { required: true, schema: { type: 'string' }, description: 'A path in the workspace' },
  token: { schema: { type: 'string' }, description: 'Of a grant: who asks' },
  holder: { schema: { type: 'string' }, description: 'Who asks, by a label; read where there is no token' },
} as const

const DESCRIPTION =
  'Answers one question: may this instance act, under which generation, and for how long yet? Act only before the moment the question was sent plus `validForMs`; no answer means no.'

function parameter(name: keyof typeof PARAMETERS) {
  return { name, in: 'query', required: false, ...PARAMETERS[name] }
}

const CALL_HEADER_PARAMETER = {
  name: CALL_HEADER,
  in: 'header',
  required: true,
  schema: { type: 'string' },
  description: 'Any value: says that the call is meant. Calls are taken from the loopback only.',
}

function reference(name: string) {
  return { $ref: `#/components/schemas/${name}` }
}

function answerSchema({ schema }: Answering) {
  if (schema === 'text') return { type: 'string' }
  if (schema === 'Document') return { type: 'object' }
  return reference(schema)
}

function answers(route: Route, withBody: boolean) {
  const entries = Object.entries(route.answers).map(([status, answering]) => {
    const type = answering.type ?? 'application/json'
    const page = answering.page ? { 'text/html': { schema: { type: 'string' } } } : {}
    const content = { [type]: { schema: answerSchema(answering) }, ...page }
    return [status, { description: answering.description, ...(withBody ? { content } : {}) }]
  })
  return Object.fromEntries(entries)
}

function operation(path: string, method: string, route: Route) {
  const query = route.parameters.map(parameter)
  const body = route.body === undefined ? {} : requestBody(route.body)
  return {
    operationId: `${method.toLowerCase()}${path.replace(/[^a-z0-9]+/gi, '_').replace(/_$/, '')}` || method,
    summary: route.summary,
    parameters: method === 'POST' ? [...query, CALL_HEADER_PARAMETER] : query,
    ...body,
    responses: answers(route, method === 'GET' || method === 'POST'),
  }
}

function requestBody(name: keyof typeof SCHEMAS) {
  const required = name !== 'ResignRequest'
  return { requestBody: { required, content: { 'application/json': { schema: reference(name) } } } }
}

function pathItem(path: string, route: Route) {
  return Object.fromEntries(
    route.methods.map((method) => [method.toLowerCase(), operation(path, method, route)]),
  )
}

function component(schema: z.ZodMiniType) {
  const { $schema: _, ...rest } = z.toJSONSchema(schema)
  return rest
}

/** Builds the document, for OpenAPI 3.1; `version` is the version of the sidecar. */
export function openApiDocument(version: string) {
  const paths = Object.entries(ROUTES).map(([path, route]) => [path, pathItem(path, route)] as const)
  const schemas = Object.entries(SCHEMAS).map(([name, schema]) => [name, component(schema)] as const)
  return {
    openapi: '3.1.0',
    info: {
      title: 'Tenure',
      version,
      description: DESCRIPTION,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: 'http://127.0.0.1:4040' }],
    paths: Object.fromEntries(paths),
    components: { schemas: Object.fromEntries(schemas) },
  }
}
