import { join } from 'node:path'
import { systemClock } from '../../base/clock.ts'
import { loadCertificates } from '../certificates.ts'
import { rotateCertificates } from '../credentials/certificate-rotation.ts'
import { apiServerNames } from '../credentials/server-names.ts'
import type { Part } from '../part.ts'
import type { ControlPlane } from './control-plane.ts'
import { isWildcard } from './listen-addresses.ts'

/**
 * Reads or makes the certificates while later parts start: those that need them wait. Clients check them by the system's
 * time, also when the cluster has a clock of its own.
 */
export const certificates: Part<ControlPlane> = {
  name: 'certificates',
  start(plane) {
    const { address, alsoAt, machineAddress, serviceCidrs, options } = plane
    const hosts = [machineAddress, address?.host ?? '127.0.0.1', ...alsoAt].filter((host) => !isWildcard(host))
    const dir = options.dataDir === undefined ? {} : { dir: join(options.dataDir, 'pki') }
    plane.certificates = loadCertificates({
      ...dir,
      clock: systemClock,
      serverNames: apiServerNames(serviceCidrs, hosts),
    })
    // A failure is reported by the part that waits for them.
    plane.certificates.catch(() => {})
  },
}

/** Replaces certificates while the cluster runs. */
export const certificateRotation: Part<ControlPlane> = {
  name: 'certificate rotation',
  isNeeded: (plane) => plane.address !== undefined,
  async start(plane) {
    plane.certificateRotation = rotateCertificates({
      certificates: await plane.certificates,
      clock: systemClock,
      log: plane.log,
      async onRenewed(renewed) {
        for (const listener of plane.listeners) listener.useCertificate(renewed.server)
        for (const notify of plane.onNewCertificates) await notify(renewed)
        if (plane.cluster) await plane.options.onNewCertificates?.(plane.cluster, renewed)
      },
    })
  },
  stop: (plane) => plane.certificateRotation?.[Symbol.asyncDispose](),
}
