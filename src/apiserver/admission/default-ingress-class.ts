import type { Ingress, IngressClass } from '../../api/generated/networking-v1.ts'
import { ANNOTATION } from '../../api/meta/well-known.ts'
import { defaultClassFinder } from './default-class.ts'
import type { Lister } from './lister.ts'
import type { AdmissionPlugin } from './plugin.ts'

/** An Ingress that names no class, neither in its spec nor by the older annotation, gets the default one. */
export function defaultIngressClass(classes: Lister<IngressClass>): AdmissionPlugin {
  const find = defaultClassFinder(
    classes,
    ({ metadata }) => metadata.annotations?.[ANNOTATION.isDefaultIngressClass] === 'true',
  )
  const setClass = async (ingress: Ingress) => {
    const name = (await find())?.metadata.name
    if (name) ingress.spec = { ...ingress.spec, ingressClassName: name }
  }
  return {
    name: 'DefaultIngressClass',
    resources: ['ingresses.networking.k8s.io'],
    admit({ operation, kind, subresource, draft }) {
      if (kind.plural !== 'ingresses' || kind.group !== 'networking.k8s.io') return
      if (operation !== 'CREATE' || subresource !== '' || !draft) return
      const ingress = draft as Ingress
      if (
        ingress.spec?.ingressClassName !== undefined ||
        ingress.metadata.annotations?.[ANNOTATION.ingressClass] !== undefined
      )
        return
      return setClass(ingress)
    },
  }
}
