import type { Container, Pod, PodSpec } from '../../../generated/core-v1.ts'
import type { FieldError } from '../../../meta/field-error.ts'
import { podKind } from './kind.ts'

/** A small valid pod, as a user sends it, with changes to its spec. */
export const samplePod = (spec: Partial<PodSpec> = {}, metadata: Partial<Pod['metadata']> = {}): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'web', namespace: 'default', uid: 'u1', labels: { app: 'web' }, ...metadata },
  spec: { ...withContainer({}), ...structuredClone(spec) } as PodSpec,
})

/** A spec whose one container has these fields too. */
export const withContainer = (container: Partial<Container>): Pick<PodSpec, 'containers'> => ({
  containers: [{ name: 'app', image: 'nginx:1.27', ...structuredClone(container) }],
})

/** A pod as it stands after the registry's first steps. */
export function createdPod(spec: Partial<PodSpec> = {}, metadata: Partial<Pod['metadata']> = {}): Pod {
  const pod = samplePod(spec, metadata)
  podKind.defaults?.(pod)
  podKind.prepareCreate?.(pod)
  return pod
}

/** Errors as a user reads them. */
export const texts = (errors: readonly FieldError[]) => errors.map((error) => `${error.field}: ${error.message}`)
