import { expect, it } from 'vitest'
import { HealthSlis } from './health-slis.ts'

it('tells what is well now, and how often it was', async () => {
  let isBroken = false
  const slis = new HealthSlis([
    { name: 'ping', isHealthy: () => true },
    { name: 'etcd', isHealthy: () => (isBroken ? Promise.reject(new Error('gone')) : true) },
  ])
  await slis.expose()
  isBroken = true
  const lines = (await slis.expose()).split('\n').filter((line) => line.includes('type="readyz"'))
  expect(lines).toEqual([
    'kubernetes_healthcheck{name="ping",type="readyz"} 1',
    'kubernetes_healthcheck{name="etcd",type="readyz"} 0',
    'kubernetes_healthchecks_total{name="ping",status="success",type="readyz"} 2',
    'kubernetes_healthchecks_total{name="etcd",status="success",type="readyz"} 1',
    'kubernetes_healthchecks_total{name="etcd",status="error",type="readyz"} 1',
  ])
})
