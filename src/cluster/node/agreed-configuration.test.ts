import { describe, expect, it } from 'vitest'
import { type AgreedConfiguration, agreedPart, configurationData, readConfiguration } from './agreed-configuration.ts'

const agreed: AgreedConfiguration = {
  clusterCidrs: ['10.244.0.0/16', 'fd00:1::/64'],
  serviceCidrs: ['10.96.0.0/16'],
  clusterDns: '10.96.0.10',
  clusterDomain: 'cluster.local',
  network: 'vxlan',
  proxyMode: 'nftables',
}
const configMap = (data: Record<string, string>) => ({ metadata: { name: 'x' }, data })

describe('readConfiguration', () => {
  it('reads back what a cluster published', () => {
    expect(readConfiguration(configMap(configurationData(agreed)))).toEqual(agreed)
  })

  it.each(Object.keys(configurationData(agreed)))('names %s if it is missing', (key) => {
    const { [key]: _, ...rest } = configurationData(agreed)
    expect(() => readConfiguration(configMap(rest))).toThrow(`sampan-configuration of the cluster has no ${key}`)
  })

  it.each(['network', 'proxyMode'])('rejects a value of %s that this version does not know', (key) => {
    const data = { ...configurationData(agreed), [key]: 'future' }
    expect(() => readConfiguration(configMap(data))).toThrow(`the cluster has ${key} future`)
  })
})

it('picks its part out of larger settings', () => {
  const settings = { ...agreed, name: 'a', dataDir: '/a' }
  expect(agreedPart(settings)).toEqual(agreed)
})
