import type { ResourceType } from './transport.ts'

export interface ResourceAddress {
  readonly resource: ResourceType
  readonly namespace?: string
  readonly name?: string
  readonly subresource?: string
  readonly query?: Readonly<Record<string, string>>
}

/** `/apis/apps/v1/namespaces/default/deployments/web/status?dryRun=All` */
export function resourcePath(address: ResourceAddress): string {
  const { resource } = address
  let path = resource.group === '' ? `/api/${resource.version}` : `/apis/${resource.group}/${resource.version}`
  if (resource.namespaced && address.namespace) path += `/namespaces/${encodeURIComponent(address.namespace)}`
  path += `/${resource.plural}`
  if (address.name !== undefined) path += `/${encodeURIComponent(address.name)}`
  if (address.subresource) path += `/${address.subresource}`
  return withQuery(path, address.query)
}

export function withQuery(path: string, query: Readonly<Record<string, string>> | undefined): string {
  if (!query) return path
  let text = ''
  for (const name of Object.keys(query)) {
    text += `${text === '' ? '?' : '&'}${encodeURIComponent(name)}=${encodeURIComponent(query[name]!)}`
  }
  return path + text
}
