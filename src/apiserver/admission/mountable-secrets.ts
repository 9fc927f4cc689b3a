import type { Container, PodSpec, ServiceAccount } from '../../api/generated/core-v1.ts'
import { ANNOTATION } from '../../api/meta/well-known.ts'

/** An account may be marked so that its pods use no secrets but those it lists; says what breaks that. */
export function unmountableSecret(spec: PodSpec, account: ServiceAccount, subresource: string): string | undefined {
  if (!isTrue(account.metadata.annotations?.[ANNOTATION.enforceMountableSecrets])) return undefined
  const listed = new Set((account.secrets ?? []).map(({ name }) => name))
  const because = `is not allowed because service account ${account.metadata.name} does not reference that`
  const secret = (name: string) => `secret.secretName="${name}" ${because} secret`
  const refused = (word: string, containers: readonly ContainerLike[] = []) =>
    refusedReference(word, containers, listed, secret)
  if (subresource === 'ephemeralcontainers') return refused('ephemeral container', spec.ephemeralContainers)
  const volume = spec.volumes?.find((one) => one.secret && !listed.has(one.secret.secretName ?? ''))
  if (volume) return `volume with ${secret(volume.secret?.secretName ?? '')}`
  const inContainer = refused('init container', spec.initContainers) ?? refused('container', spec.containers)
  if (inContainer) return inContainer
  const pulling = new Set((account.imagePullSecrets ?? []).map(({ name }) => name))
  const i = spec.imagePullSecrets?.findIndex(({ name }) => !pulling.has(name)) ?? -1
  if (i < 0) return undefined
  return `imagePullSecrets[${i}].name="${spec.imagePullSecrets![i]!.name}" ${because} imagePullSecret`
}

type ContainerLike = Pick<Container, 'name' | 'env' | 'envFrom'>

function refusedReference(
  word: string,
  containers: readonly ContainerLike[],
  listed: ReadonlySet<string | undefined>,
  secret: (name: string) => string,
): string | undefined {
  for (const { name, env = [], envFrom = [] } of containers) {
    for (const { name: variable, valueFrom } of env) {
      const used = valueFrom?.secretKeyRef
      if (used && !listed.has(used.name))
        return `${word} ${name} with envVar ${variable} referencing ${secret(used.name ?? '')}`
    }
    for (const { secretRef } of envFrom) {
      if (secretRef && !listed.has(secretRef.name))
        return `${word} ${name} with envFrom referencing ${secret(secretRef.name ?? '')}`
    }
  }
  return undefined
}

const isTrue = (text: string | undefined) => ['1', 't', 'T', 'TRUE', 'true', 'True'].includes(text ?? '')
