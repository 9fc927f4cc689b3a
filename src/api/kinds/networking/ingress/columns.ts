import type { Ingress } from '../../../generated/networking-v1.ts'
import type { Column } from '../../../kind.ts'
import { ageColumn, column, nameColumn } from '../../core/printed-columns.ts'
import { loadBalancerAddresses } from '../../core/service/columns.ts'

export const ingressColumns: readonly Column<Ingress>[] = [
  nameColumn,
  column<Ingress>('Class', 'Class that serves the Ingress.', (ingress) => ingress.spec?.ingressClassName ?? '<none>'),
  column<Ingress>('Hosts', 'Names it answers to.', formatHosts),
  column<Ingress>('Address', 'Where it can be reached.', (ingress) =>
    loadBalancerAddresses(ingress.status?.loadBalancer).join(','),
  ),
  column<Ingress>('Ports', 'Ports it listens on.', (ingress) => (ingress.spec?.tls?.length ? '80, 443' : '80')),
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
