import type { Kind } from '../../../api/kind.ts'
import type { KubernetesObject } from '../../../api/meta/object.ts'
import type { CheckedPod } from './check.ts'

type Template = { metadata?: CheckedPod['metadata']; spec?: CheckedPod['spec'] } | undefined
interface Templated {
  readonly template?: Template
  readonly spec?: { readonly template?: Template; readonly jobTemplate?: { readonly spec?: { template?: Template } } }
}

const inSpec = ({ spec }: Templated) => spec?.template

/** Where a kind that makes pods keeps their template. */
const TEMPLATES: Readonly<Record<string, ((object: Templated) => Template) | undefined>> = {
  'podtemplates.': ({ template }) => template,
  'replicationcontrollers.': inSpec,
  'replicasets.apps': inSpec,
  'deployments.apps': inSpec,
  'statefulsets.apps': inSpec,
  'daemonsets.apps': inSpec,
  'jobs.batch': inSpec,
  'cronjobs.batch': ({ spec }) => spec?.jobTemplate?.spec?.template,
}

export const hasTemplate = ({ plural, group }: Kind) => TEMPLATES[`${plural}.${group}`] !== undefined

export function templateOf({ plural, group }: Kind, object: KubernetesObject): CheckedPod | undefined {
  const template = TEMPLATES[`${plural}.${group}`]?.(object as Templated)
  return template?.spec && { metadata: template.metadata, spec: template.spec }
}
