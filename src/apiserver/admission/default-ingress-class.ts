import type { Ingress, IngressClass } from '../../api/generated/networking-v1.ts'
import { defaultClassFinder } from './default-class.ts'
import type { Lister } from './lister.ts'
import type { AdmissionPlugin } from './plugin.ts'

const CLASS = 'kubernetes.io/ingress.class'
const IS_DEFAULT = 'ingressclass.kubernetes.io/is-default-class'

/** An Ingress that names no class, neither in its spec nor by the older annotation, gets the default one. */
export function defaultIngressClass(classes: Lister<IngressClass>): AdmissionPlugin {
  const find = defaultClassFinder(classes, ({ metadata }) => metadata.annotations?.[IS_DEFAULT] === 'true')
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
      if (ingress.spec?.ingressClassName !== undefined || ingress.metadata.annotations?.[CLASS] !== undefined) return
      return setClass(ingress)
    },
  }
}
