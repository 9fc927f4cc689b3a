import { gzipSync } from 'node:zlib'

/**
 * What OpenAPI documents need beyond the structural schemas: descriptions of types, fields and query parameters.
 * Packed, because it is read by few and only when `kubectl explain` or a new client asks.
 */
export function renderOpenApiData(definitions, swagger) {
  const data = { definitions, parameters: queryParameters(swagger), connect: connectParameters(swagger) }
  const packed = gzipSync(JSON.stringify(data), { level: 9 }).toString('base64')
  return `export const OPENAPI_DATA = '${packed}'\n`
}

const resolve = (swagger, parameter) =>
  parameter.$ref ? swagger.parameters[parameter.$ref.slice('#/parameters/'.length)] : parameter

const summary = ({ name, type, description }) => ({ name, type, description })

/** Parameters that many operations share, by name. */
function queryParameters(swagger) {
  const pods = swagger.paths['/api/v1/namespaces/{namespace}/pods']
  const pod = swagger.paths['/api/v1/namespaces/{namespace}/pods/{name}']
  const operations = [pods.get, pods.post, pods.delete, pod.patch, pod.put, pod.delete]
  const all = [...operations.flatMap((operation) => operation.parameters ?? []), ...(pod.parameters ?? [])]
  const query = all.map((parameter) => resolve(swagger, parameter)).filter(({ in: place }) => place === 'query')
  return Object.fromEntries(query.map((parameter) => [parameter.name, summary(parameter)]))
}

/** Parameters of the subresources that stream (`pods/log`, `pods/exec`, ...), by resource and subresource. */
function connectParameters(swagger) {
  const found = {}
  for (const [path, item] of Object.entries(swagger.paths)) {
    const match = /\/(\w+)\/\{name\}\/(\w+)$/.exec(path)
    if (!match || !path.startsWith('/api/v1/')) continue
    const parameters = [...(item.parameters ?? []), ...(item.get?.parameters ?? [])]
      .map((parameter) => resolve(swagger, parameter))
      .filter((parameter) => parameter.in === 'query' && parameter.name !== 'pretty')
    if (parameters.length > 0) found[`${match[1]}/${match[2]}`] = parameters.map(summary)
  }
  return found
}
