import type { Service } from '../../api/generated/core-v1.ts'
import { forbiddenAccess } from '../../api/meta/api-error.ts'
import type { AdmissionPlugin } from './plugin.ts'

/**
 * Refuses external IPs that a Service does not have yet (https://kep.k8s.io/2200): with one, a user who may write Services
 * receives what others send to that address. Existing ones may stay or be removed.
 */
export const denyServiceExternalIPs: AdmissionPlugin = {
  name: 'DenyServiceExternalIPs',
  resources: ['services'],
  validate({ operation, kind, name, draft, old }) {
    if (kind.group !== '' || kind.plural !== 'services' || (operation !== 'CREATE' && operation !== 'UPDATE')) return
    const known = new Set(operation === 'UPDATE' ? (old as Service | undefined)?.spec?.externalIPs : [])
    if ((draft as Service | undefined)?.spec?.externalIPs?.every((ip) => known.has(ip)) ?? true) return
    throw forbiddenAccess(
      { group: '', resource: 'services' },
      name,
      'Use of external IPs is denied by admission control',
    )
  },
}
