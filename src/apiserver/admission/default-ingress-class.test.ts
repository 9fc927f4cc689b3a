import { describe, expect, it } from 'vitest'
import type { Ingress, IngressClass } from '../../api/generated/networking-v1.ts'
import { ingressKind } from '../../api/kinds/networking/ingress/kind.ts'
import { admitted, listerOf } from './admission.fixture.ts'
import { defaultIngressClass } from './default-ingress-class.ts'

const classOf = (name: string, year: number, isDefault = 'true'): IngressClass => ({
  metadata: {
    name,
    creationTimestamp: `${year}-01-01T00:00:00Z`,
    annotations: { 'ingressclass.kubernetes.io/is-default-class': isDefault },
  },
})
const ingress = (ingressClassName?: string, annotations = {}): Ingress => ({
  metadata: { name: 'i', namespace: 'n', annotations },
  spec: ingressClassName === undefined ? {} : { ingressClassName },
})
const classes = [classOf('old', 2020), classOf('new', 2024), classOf('none', 2025, 'false')]
const byAnnotation = { 'kubernetes.io/ingress.class': 'x' }

describe('DefaultIngressClass', () => {
  it.each<[why: string, classes: IngressClass[], own: Ingress, expected: Ingress]>([
    ['the newest default', classes, ingress(), ingress('new')],
    ['no default', [classOf('none', 2025, 'false')], ingress(), ingress()],
    ['a class', classes, ingress('mine'), ingress('mine')],
    ['a class by annotation', classes, ingress(undefined, byAnnotation), ingress(undefined, byAnnotation)],
  ])('%s', async (_, all, own, expected) => {
    expect(await admitted(defaultIngressClass(listerOf(all)), ingressKind, own)).toEqual(expected)
  })
})
