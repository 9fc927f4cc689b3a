/** The guestbook that tutorials have: a leader takes entries, replicas copy it by its name, frontends ask both by theirs. */
import { IMAGE } from './conformance-node.ts'

const serve = (answer: string) => `
  const data = {}
  const read = (url) => fetch(url).then((response) => response.json())
  require('http').createServer(async ({ url }, response) => {
    const { pathname, searchParams } = new URL(url, 'http://me')
    const [cmd, key, value] = ['cmd', 'key', 'value'].map((name) => searchParams.get(name))
    try {
      ${answer}
    } catch (error) {
      response.writeHead(502)
      response.end(String(error))
    }
  }).listen(8080)`

const LEADER = serve(`
      if (cmd === 'set') data[key] = value
      response.end(JSON.stringify(pathname === '/all' ? data : { message: 'Updated' }))`)
const REPLICA = `${serve(`
      response.end(JSON.stringify({ data: data[key] ?? '' }))`)}
  setInterval(() => read('http://guestbook-leader/all').then((all) => Object.assign(data, all)).catch(() => {}), 100)`
const FRONTEND = serve(`
      const part = cmd === 'set' ? 'leader' : 'replica'
      response.end(JSON.stringify(await read('http://guestbook-' + part + '/?' + searchParams)))`)

function part(name: string, replicas: number, program: string) {
  const labels = { of: 'guestbook', part: name }
  const probe = { tcpSocket: { port: 8080 }, periodSeconds: 1 }
  const container = { name: 'main', image: IMAGE, command: ['node', '-e', program], readinessProbe: probe }
  const spec = { terminationGracePeriodSeconds: 1, containers: [container] }
  return [
    {
      ...{ apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name } },
      spec: { replicas, selector: { matchLabels: labels }, template: { metadata: { labels }, spec } },
    },
    {
      ...{ apiVersion: 'v1', kind: 'Service', metadata: { name } },
      spec: { selector: labels, ports: [{ port: 80, targetPort: 8080 }] },
    },
  ]
}

export const guestbook = [
  ...part('guestbook-leader', 1, LEADER),
  ...part('guestbook-replica', 2, REPLICA),
  ...part('frontend', 2, FRONTEND),
]
