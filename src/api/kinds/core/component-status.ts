import type { ComponentStatus } from '../../generated/core-v1.ts'
import { defineKind } from '../../kind.ts'
import { column, nameColumn } from './printed-columns.ts'

const healthOf = (component: ComponentStatus) => component.conditions?.find(({ type }) => type === 'Healthy')

/** Health of the control plane as older tools ask for it. Computed when asked, never stored. */
export const componentStatusKind = defineKind<ComponentStatus>({
  group: '',
  version: 'v1',
  kind: 'ComponentStatus',
  plural: 'componentstatuses',
  shortNames: ['cs'],
  namespaced: false,
  verbs: ['get', 'list'],
  schema: 'io.k8s.api.core.v1.ComponentStatus',
  deprecationWarning: 'v1 ComponentStatus is deprecated in v1.19+',
  columns: [
    nameColumn,
    column<ComponentStatus>('Status', 'Whether the component is healthy.', (component) =>
      healthOf(component)?.status === 'True' ? 'Healthy' : 'Unhealthy',
    ),
    column<ComponentStatus>('Message', 'What the component says.', (one) => healthOf(one)?.message ?? ''),
    column<ComponentStatus>('Error', 'What failed, if anything did.', (one) => healthOf(one)?.error ?? ''),
  ],
})
