const capital = (word) => word[0].toUpperCase() + word.slice(1)

/** `prefix` and `api` are the words of the client generator: a model's prefix where names clash, an API class. */
const row = (name, group, version = 'v1', packageName = `io.k8s.api.${name}.${version}`) => ({
  name,
  group,
  version,
  package: packageName,
  file: `${name}-${version}`,
  prefix: capital(name),
  api: (group === '' ? [name] : group.replace(/\.k8s\.io$/, '').split('.')).map(capital).join('') + capital(version),
})

/** The group versions that v1.36 serves by default, in the order of discovery. */
export const GROUP_VERSIONS = [
  row('core', ''),
  row('apiregistration', 'apiregistration.k8s.io', 'v1', 'io.k8s.kube-aggregator.pkg.apis.apiregistration.v1'),
  row('apps', 'apps'),
  row('events', 'events.k8s.io'),
  row('authentication', 'authentication.k8s.io'),
  row('authorization', 'authorization.k8s.io'),
  row('autoscaling', 'autoscaling', 'v2'),
  row('autoscaling', 'autoscaling', 'v1'),
  row('batch', 'batch'),
  row('certificates', 'certificates.k8s.io'),
  row('networking', 'networking.k8s.io'),
  row('policy', 'policy'),
  row('rbac', 'rbac.authorization.k8s.io'),
  row('storage', 'storage.k8s.io'),
  row('admissionregistration', 'admissionregistration.k8s.io'),
  row('apiextensions', 'apiextensions.k8s.io', 'v1', 'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1'),
  row('scheduling', 'scheduling.k8s.io'),
  row('coordination', 'coordination.k8s.io'),
  row('node', 'node.k8s.io'),
  row('discovery', 'discovery.k8s.io'),
  row('flowcontrol', 'flowcontrol.apiserver.k8s.io'),
  row('resource', 'resource.k8s.io'),
]

export const META_PACKAGE = 'io.k8s.apimachinery.pkg.apis.meta.v1'
export const QUANTITY = 'io.k8s.apimachinery.pkg.api.resource.Quantity'
export const INT_OR_STRING = 'io.k8s.apimachinery.pkg.util.intstr.IntOrString'
export const RAW_EXTENSION = 'io.k8s.apimachinery.pkg.runtime.RawExtension'
export const JSON_PACKAGE = 'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1'
