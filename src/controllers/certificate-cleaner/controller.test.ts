import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { certificateSigningRequestKind } from '../../api/kinds/certificates/certificate-signing-request.ts'
import { formatTime } from '../../api/meta/time.ts'
import { VirtualClock } from '../../base/virtual-clock.ts'
import { type ControlPlane, startControlPlane } from '../../testing/control-plane.ts'
import { janeRequest } from '../certificate-signing/requests.fixture.ts'
import { certificateCleanerController } from './controller.ts'

const HOUR = 3_600_000
let plane: ControlPlane
let clock: VirtualClock
beforeEach(async () => {
  clock = new VirtualClock()
  plane = await startControlPlane({ clock, controllers: [certificateCleanerController] })
})
afterEach(() => plane[Symbol.asyncDispose]())

const requests = () => plane.client.resource(certificateSigningRequestKind)
async function isThereAfter(hours: number) {
  await plane.settled()
  await clock.advanceAsync(hours * HOUR)
  await plane.settled()
  return (await requests().list()).items.length === 1
}

describe('certificateCleanerController', () => {
  it.each([
    ['pending', undefined, 24],
    ['denied', 'Denied', 1],
    ['approved, never issued', 'Approved', 24],
  ])('%s', async (_, type, hours) => {
    const created = await requests().create({
      metadata: { name: 'r' },
      spec: {
        request: Buffer.from(janeRequest).toString('base64'),
        signerName: 'example.com/mine',
        usages: ['client auth'],
      },
    })
    const conditions = [{ type: type ?? '', status: 'True', lastUpdateTime: formatTime(clock.now()) }]
    if (type) await requests().subresource('update', 'r', 'approval', { ...created, status: { conditions } })
    expect(await isThereAfter(hours - 0.1)).toBe(true)
    expect(await isThereAfter(0.2)).toBe(false)
  })
})
