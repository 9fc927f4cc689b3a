import type { Service } from '../../api/generated/core-v1.ts'
import { forbiddenAccess } from '../../api/meta/api-error.ts'
import type { AdmissionPlugin } from './plugin.ts'

/**
 * No Service gets a new external address (https://kep.k8s.io/2200): by one, whoever may write Services takes what others send to
 * that address. Those that a Service has may stay, and go.
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
