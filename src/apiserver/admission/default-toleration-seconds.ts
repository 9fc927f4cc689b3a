import type { Pod, Toleration } from '../../api/generated/core-v1.ts'
import { TAINT } from '../../api/meta/well-known.ts'
import type { AdmissionPlugin } from './plugin.ts'

const TAINTS = [TAINT.notReady, TAINT.unreachable]
const SECONDS = 300

/** A pod stays for five minutes on a node that is not ready or not reachable, unless it says itself how long. */
export const defaultTolerationSeconds: AdmissionPlugin = {
  name: 'DefaultTolerationSeconds',
  resources: ['pods'],
  admit({ operation, kind, subresource, draft }) {
    if (kind.plural !== 'pods' || kind.group !== '' || subresource !== '') return
    if (operation !== 'CREATE' && operation !== 'UPDATE') return
    const { spec } = draft as Pod
    if (!spec) return
    const own = spec.tolerations ?? []
    const missing = TAINTS.filter((key) => !own.some((toleration) => tolerates(toleration, key)))
    if (missing.length > 0) spec.tolerations = [...own, ...missing.map(forAWhile)]
  },
}

/** Values are not looked at: whoever speaks of the taint has thought about it. */
const tolerates = ({ key = '', effect = '' }: Toleration, taint: string) =>
  (key === taint || key === '') && (effect === 'NoExecute' || effect === '')

const forAWhile = (key: string): Toleration => ({
  key,
  operator: 'Exists',
  effect: 'NoExecute',
  tolerationSeconds: SECONDS,
})
