/**
 * What people run beside Kubernetes, as one program for a pod: admission webhooks, a conversion webhook, and an API
 * server of its own for flunders. Believes only who comes with a certificate of the front proxy when users are named.
 */
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:https'

const GROUP_VERSION = 'wardle.example.com/v1alpha1'
const PREFIX = `/apis/${GROUP_VERSION}`
const flunders = new Map()
let revision = 0

const review = ({ apiVersion, kind, request }, response) => ({
  apiVersion,
  kind,
  response: { uid: request.uid, ...response },
})

function admit(body) {
  const isBad = body.request.object?.data?.bad === 'yes'
  return review(
    body,
    isBad ? { allowed: false, status: { message: 'refused by a pod', code: 403 } } : { allowed: true },
  )
}

function mutate(body) {
  const patch = [{ op: 'add', path: '/data/changed', value: 'by a pod' }]
  const encoded = Buffer.from(JSON.stringify(patch)).toString('base64')
  return review(body, { allowed: true, patchType: 'JSONPatch', patch: encoded })
}

/** v1 has `hostPort`, v2 has `host` and `port`. */
function convert(body) {
  const { desiredAPIVersion, objects } = body.request
  const convertedObjects = objects.map(({ hostPort, host, port, ...rest }) => {
    if (rest.apiVersion === desiredAPIVersion) return { ...rest, hostPort, host, port }
    const object = { ...rest, apiVersion: desiredAPIVersion }
    if (desiredAPIVersion.endsWith('/v1')) return { ...object, hostPort: `${host}:${port}` }
    const [name, number] = hostPort.split(':')
    return { ...object, host: name, port: number }
  })
  return review(body, { convertedObjects, result: { status: 'Success' } })
}

const WEBHOOKS = { '/admit': admit, '/mutate': mutate, '/convert': convert }
const verbs = ['create', 'delete', 'deletecollection', 'get', 'list']
const RESOURCES = {
  kind: 'APIResourceList',
  apiVersion: 'v1',
  groupVersion: GROUP_VERSION,
  resources: [{ name: 'flunders', singularName: 'flunder', namespaced: true, kind: 'Flunder', verbs }],
}

const status = (code, reason) => ({ kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', reason, code })

function serveFlunders(method, name, body, user) {
  const metadata = () => ({ resourceVersion: String(++revision) })
  const type = { apiVersion: GROUP_VERSION, kind: 'Flunder' }
  if (method === 'POST') {
    const made = { ...type, ...body, metadata: { ...body.metadata, uid: randomUUID(), ...metadata() }, createdBy: user }
    flunders.set(body.metadata.name, made)
    return [201, made]
  }
  if (name === undefined && method === 'DELETE') flunders.clear()
  if (name === undefined)
    return [200, { ...type, kind: 'FlunderList', metadata: metadata(), items: [...flunders.values()] }]
  const found = flunders.get(name)
  if (!found) return [404, status(404, 'NotFound')]
  if (method === 'DELETE') flunders.delete(name)
  return [200, found]
}

function answer(request, path, body) {
  if (path === '/readyz') return [200, {}]
  if (WEBHOOKS[path]) return [200, WEBHOOKS[path](body)]
  if (!request.socket.authorized) return [401, status(401, 'Unauthorized')]
  if (path === PREFIX) return [200, RESOURCES]
  const [, name] = path.match(/\/flunders(?:\/([^/]+))?$/) ?? []
  if (!path.startsWith(PREFIX) || !path.includes('/flunders')) return [404, status(404, 'NotFound')]
  return serveFlunders(request.method, name, body, request.headers['x-remote-user'])
}

const certificate = { key: readFileSync('/certs/tls.key'), cert: readFileSync('/certs/tls.crt') }
const proxy = { ca: readFileSync('/proxy/ca.crt'), requestCert: true, rejectUnauthorized: false }
createServer({ ...certificate, ...proxy }, async (request, response) => {
  let text = ''
  for await (const part of request) text += part
  const { pathname } = new URL(request.url, 'https://x')
  const [code, body] = answer(request, pathname, text === '' ? undefined : JSON.parse(text))
  response.writeHead(code, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}).listen(8443)
