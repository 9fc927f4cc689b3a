import type { Ingress } from '../../../generated/networking-v1.ts'
import type { Column } from '../../../kind.ts'
import { ageColumn, column, nameColumn } from '../../core/printed-columns.ts'
import { loadBalancerAddresses } from '../../core/service/columns.ts'

export const ingressColumns: readonly Column<Ingress>[] = [
  nameColumn,
  column<Ingress>(
    'Class',
    'The name of the IngressClass resource that should be used for additional configuration',
    (ingress) => ingress.spec?.ingressClassName ?? '<none>',
  ),
  column<Ingress>('Hosts', 'Hosts that incoming requests are matched against before the ingress rule', formatHosts),
  column<Ingress>('Address', 'Address is a list containing ingress points for the load-balancer', (ingress) =>
    loadBalancerAddresses(ingress.status?.loadBalancer).join(','),
  ),
  column<Ingress>('Ports', 'Ports of TLS configurations that open', (ingress) =>
    ingress.spec?.tls?.length ? '80, 443' : '80',
  ),
  ageColumn,
]

const SHOWN = 3

/** Up to three hosts. Once these are found, every further rule counts as one more, whatever its host. */
function formatHosts(ingress: Ingress): string {
  const rules = ingress.spec?.rules ?? []
  const hosts: string[] = []
  let more = false
  for (const { host } of rules) {
    if (hosts.length === SHOWN) more = true
    else if (host) hosts.push(host)
  }
  if (hosts.length === 0) return '*'
  return more ? `${hosts.join(',')} + ${rules.length - SHOWN} more...` : hosts.join(',')
}
