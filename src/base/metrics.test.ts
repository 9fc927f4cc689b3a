import { expect, test } from 'vitest'
import { MetricsRegistry } from './metrics.ts'

test('counters, gauges and histograms in the text exposition format', () => {
  const registry = new MetricsRegistry()
  const requests = registry.counter('requests_total', 'Requests served.', ['verb', 'code'])
  requests.labels('get', '200').increment()
  requests.labels('get', '200').increment(2)
  requests.labels('list', '500').increment()
  registry.gauge('goroutines', 'With a \\ and\nnewline').labels().set(-1.5)
  const latency = registry.histogram('latency_seconds', 'Latency.', ['verb'], [0.1, 1])
  for (const seconds of [0.05, 0.1, 0.5, 3]) latency.labels('get').observe(seconds)
  expect(registry.expose()).toBe(`# HELP requests_total Requests served.
# TYPE requests_total counter
requests_total{verb="get",code="200"} 3
requests_total{verb="list",code="500"} 1
# HELP goroutines With a \\\\ and\\nnewline
# TYPE goroutines gauge
goroutines -1.5
# HELP latency_seconds Latency.
# TYPE latency_seconds histogram
latency_seconds_bucket{verb="get",le="0.1"} 2
latency_seconds_bucket{verb="get",le="1"} 3
latency_seconds_bucket{verb="get",le="+Inf"} 4
latency_seconds_sum{verb="get"} 3.65
latency_seconds_count{verb="get"} 4
`)
})

test('label values are escaped', () => {
  const registry = new MetricsRegistry()
  registry.counter('odd_total', 'x', ['path']).labels('a"b\\c\nd').increment()
  expect(registry.expose()).toContain('odd_total{path="a\\"b\\\\c\\nd"} 1\n')
})

test('a metric without labels shows its zero at once; one with labels shows nothing until used', () => {
  const registry = new MetricsRegistry()
  registry.counter('plain_total', 'x')
  registry.counter('labelled_total', 'x', ['a'])
  expect(registry.expose()).toMatch(/^plain_total 0$/m)
  expect(registry.expose()).not.toMatch(/^labelled_total/m)
})

test('a gauge can be read at scrape time; a removed child is gone', () => {
  const registry = new MetricsRegistry()
  const depth = registry.gauge('depth', 'x', ['queue'])
  let value = 1
  depth.labels('a').readFrom(() => value)
  value = 7
  expect(registry.expose()).toContain('depth{queue="a"} 7\n')
  depth.remove('a')
  expect(registry.expose()).not.toContain('queue="a"')
})

test('mistakes are refused', () => {
  const registry = new MetricsRegistry()
  const family = registry.counter('a_total', 'x', ['l'])
  expect(() => registry.gauge('a_total', 'x')).toThrow('registered twice')
  expect(() => registry.counter('bad name', 'x')).toThrow('not a metric name')
  expect(() => family.labels('1', '2')).toThrow('got 2 values')
})
