/** The key prefix of a kind's objects in the store: `/registry/pods`, `/registry/deployments.apps`. */
export function storagePrefix(resource: { group: string; plural: string }): string {
  return resource.group === '' ? `/registry/${resource.plural}/` : `/registry/${resource.plural}.${resource.group}/`
}

/** The key of an object below its prefix: `namespace/name`, or `name` where there are no namespaces. */
export function objectKey(prefix: string, namespaced: boolean, namespace: string, name: string): string {
  return namespaced ? `${prefix}${namespace}/${name}` : prefix + name
}
