import type { ServiceAccount } from '../../generated/core-v1.ts'
import { defineKind } from '../../kind.ts'
import { ANNOTATION } from '../../meta/well-known.ts'
import { ageColumn, nameColumn } from './printed-columns.ts'

export const serviceAccountKind = defineKind<ServiceAccount>({
  group: '',
  version: 'v1',
  kind: 'ServiceAccount',
  plural: 'serviceaccounts',
  shortNames: ['sa'],
  schema: 'io.k8s.api.core.v1.ServiceAccount',
  prepareCreate: keepSecretNames,
  prepareUpdate: keepSecretNames,
  warnings,
  columns: [nameColumn, ageColumn],
  subresources: {
    token: {
      type: 'action',
      verbs: ['create'],
      group: 'authentication.k8s.io',
      version: 'v1',
      kind: 'TokenRequest',
    },
  },
})

/** Of a secret only its name is kept: it always lives in the account's own namespace. */
function keepSecretNames(draft: ServiceAccount): void {
  if (draft.secrets) draft.secrets = draft.secrets.map(({ name }) => (name === undefined ? {} : { name }))
}

function warnings(account: ServiceAccount, old: ServiceAccount | undefined): string[] {
  const enforces = (object: ServiceAccount) =>
    object.metadata.annotations?.[ANNOTATION.enforceMountableSecrets] !== undefined
  if (!enforces(account) || (old && enforces(old))) return []
  return [
    `metadata.annotations[${ANNOTATION.enforceMountableSecrets}]: deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets`,
  ]
}
