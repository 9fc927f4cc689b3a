import { beforeEach, describe, expect, test } from 'vitest'
import type { Conntrack, FlowEvent, NewFlow } from './conntrack.ts'
import type { Linux } from './linux.ts'
import { codeOf, scratch } from './scratch.contract.ts'

const UDP = 17
const TCP = 6

/** A client's flow to a service, answered by an endpoint. */
function flow(client: string, service: string, endpoint: string, protocol = UDP, port = 53): NewFlow {
  return {
    original: { source: client, destination: service, protocol, sourcePort: 4000, destinationPort: port },
    reply: { source: endpoint, destination: client, protocol, sourcePort: 5353, destinationPort: 4000 },
    timeoutSeconds: 600,
  }
}

export function conntrackContract(name: string, open: () => Linux): void {
  describe(`conntrack: ${name}`, () => {
    const start = scratch(open)
    let conntrack: Conntrack

    beforeEach(() => {
      const { linux, namespace, use } = start()
      const inside = namespace()
      conntrack = use(linux.openConntrack(inside))
    })

    test('lists by family what was inserted', () => {
      const four = flow('10.1.0.1', '10.96.0.10', '10.244.0.5')
      const six = flow('fd01::1', 'fd96::10', 'fd00::5')
      conntrack.insert(four)
      conntrack.insert({ ...six, mark: 7 })
      expect(conntrack.list('ip')).toMatchObject([{ original: four.original, reply: four.reply, mark: 0 }])
      expect(conntrack.list('ip6')).toMatchObject([{ original: six.original, reply: six.reply }])
    })

    test.each<[string, Parameters<Conntrack['list']>[1], string[]]>([
      ['protocol', { protocol: UDP }, ['10.1.0.1', '10.1.0.2', '10.1.0.3']],
      ['protocol and address', { protocol: UDP, destination: '10.96.0.10' }, ['10.1.0.1', '10.1.0.2']],
      ['all', { protocol: UDP, destination: '10.96.0.10', destinationPort: 53 }, ['10.1.0.1']],
      ['port', { protocol: TCP, destinationPort: 53 }, ['10.1.0.4']],
      ['nothing there', { protocol: UDP, destination: '10.96.0.99' }, []],
    ])('filters by %s', (_name, filter, clients) => {
      conntrack.insert(flow('10.1.0.1', '10.96.0.10', '10.244.0.5'))
      conntrack.insert(flow('10.1.0.2', '10.96.0.10', '10.244.0.5', UDP, 54))
      conntrack.insert(flow('10.1.0.3', '10.96.0.11', '10.244.0.5'))
      conntrack.insert(flow('10.1.0.4', '10.96.0.10', '10.244.0.5', TCP))
      const found = conntrack.list('ip', filter).map(({ original }) => original.source)
      expect(found.sort()).toEqual(clients)
    })

    test('deletes one flow, once', () => {
      conntrack.insert(flow('10.1.0.1', '10.96.0.10', '10.244.0.5'))
      conntrack.insert(flow('10.1.0.2', '10.96.0.10', '10.244.0.6'))
      const [gone] = conntrack.list('ip').filter(({ reply }) => reply.source === '10.244.0.5')
      conntrack.delete(gone!)
      expect(conntrack.list('ip').map(({ reply }) => reply.source)).toEqual(['10.244.0.6'])
      expect(codeOf(() => conntrack.delete(gone!))).toBe('ENOENT')
    })

    test('a flow made anew is another one', () => {
      const again = flow('10.1.0.1', '10.96.0.10', '10.244.0.5')
      conntrack.insert(again)
      const [old] = conntrack.list('ip')
      expect(codeOf(() => conntrack.delete({ ...old!, id: old!.id + 1 }))).toBe('ENOENT')
      expect(conntrack.list('ip')).toHaveLength(1)
    })

    test('a flow is there once', () => {
      conntrack.insert(flow('10.1.0.1', '10.96.0.10', '10.244.0.5'))
      expect(codeOf(() => conntrack.insert(flow('10.1.0.1', '10.96.0.10', '10.244.0.5')))).toBe('EEXIST')
    })

    test('tells what comes and goes', async () => {
      const events: FlowEvent[] = []
      const watch = conntrack.watch((event) => events.push(event))
      const { original, reply, ...rest } = flow('10.1.0.1', '10.96.0.10', '10.244.0.5')
      conntrack.insert({ original, reply, ...rest })
      conntrack.delete(conntrack.list('ip')[0]!)
      await expect
        .poll(() => events.map(({ change }) => change).filter((change) => change !== 'updated'))
        .toEqual(['new', 'destroyed'])
      expect(events[0]).toMatchObject({ flow: { original, reply } })
      watch[Symbol.dispose]()
    })
  })
}
