import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Service } from '../../api/generated/core-v1.ts'
import { serviceKind } from '../../api/kinds/core/service/kind.ts'
import { admitted } from './admission.fixture.ts'
import { type AdmissionServer, startAdmissionServer } from './admission-server.fixture.ts'
import { denyServiceExternalIPs } from './deny-service-external-ips.ts'

const DENIED = 'services "s" is forbidden: Use of external IPs is denied by admission control'
const service = (externalIPs?: string[]): Service => ({
  metadata: { name: 's', namespace: 'n' },
  spec: { ports: [{ port: 80 }], ...(externalIPs && { externalIPs }) },
})

describe('DenyServiceExternalIPs', () => {
  it.each<[why: string, before: string[] | undefined | 'new', after: string[] | undefined, isDenied: boolean]>([
    ['lets a new Service without addresses pass', 'new', undefined, false],
    ['lets a new Service with an empty list pass', 'new', [], false],
    ['denies a new Service with an address', 'new', ['192.0.2.1'], true],
    ['denies a first address', undefined, ['192.0.2.1'], true],
    ['denies one more address', ['192.0.2.1'], ['192.0.2.1', '192.0.2.2'], true],
    ['denies another address', ['192.0.2.1'], ['192.0.2.2'], true],
    ['lets addresses stay', ['192.0.2.1', '192.0.2.2'], ['192.0.2.2', '192.0.2.1'], false],
    ['lets one address go', ['192.0.2.1', '192.0.2.2'], ['192.0.2.2'], false],
    ['lets all addresses go', ['192.0.2.1'], undefined, false],
  ])('%s', async (_, before, after, isDenied) => {
    const update = before === 'new' ? {} : { operation: 'UPDATE' as const, old: service(before) }
    const result = await admitted(denyServiceExternalIPs, serviceKind, service(after), update)
    expect(result).toEqual(isDenied ? DENIED : service(after))
  })
})

describe('the flags for admission plugins', () => {
  let plane: AdmissionServer
  const start = async (options: Parameters<typeof startAdmissionServer>[0]) => {
    plane = await startAdmissionServer(options)
    return plane.client.resource(serviceKind).namespace('default')
  }
  beforeEach(() => {
    plane = undefined!
  })
  afterEach(() => plane?.[Symbol.asyncDispose]())
  const wanted = { metadata: { name: 's' }, spec: { ports: [{ port: 80 }], externalIPs: ['192.0.2.1'] } }

  it('leave DenyServiceExternalIPs off by default', async () => {
    const services = await start({})
    expect((await services.create(wanted)).spec?.externalIPs).toEqual(['192.0.2.1'])
  })

  it('turn DenyServiceExternalIPs on', async () => {
    const services = await start({ enableAdmissionPlugins: ['DenyServiceExternalIPs'] })
    await expect(services.create(wanted)).rejects.toMatchObject({ code: 403, message: DENIED })
    await services.create({ ...wanted, spec: { ports: [{ port: 80 }] } })
    await expect(services.patch('s', { spec: { externalIPs: ['192.0.2.1'] } })).rejects.toMatchObject({ code: 403 })
    await expect(services.apply(wanted, { fieldManager: 'm', force: true })).rejects.toMatchObject({ code: 403 })
  })

  it.each([
    [{ enableAdmissionPlugins: ['Nothing'] }, 'enable-admission-plugins plugin "Nothing" is unknown'],
    [{ disableAdmissionPlugins: ['Nothing'] }, 'disable-admission-plugins plugin "Nothing" is unknown'],
    [
      { enableAdmissionPlugins: ['PodSecurity'], disableAdmissionPlugins: ['PodSecurity'] },
      '[PodSecurity] in enable-admission-plugins and disable-admission-plugins overlapped',
    ],
  ])('refuse what makes no sense: %j', async (options, message) => {
    await expect(start(options)).rejects.toThrow(message)
  })
})
