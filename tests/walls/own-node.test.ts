/** What pods and Services must not take from the node they are on. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { asRoot } from '../linux/as-root.ts'
import { eventually, Machine } from '../tools/machine.ts'

const podOf = (name: string, command: readonly string[], annotations: Record<string, string> = {}) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, labels: { app: name }, annotations },
  spec: {
    terminationGracePeriodSeconds: 1,
    containers: [{ name: 'c', image: 'sampan.local/host', command }],
  },
})
const SLEEP = ['sleep', '3600']
const API_SERVER = '172.30.0.1'
const NODE = '172.30.0.2'
const OTHER = '203.0.113.9'
/** Answers whatever comes to any port that leads here, without TLS. */
const THIEF = "require('node:net').createServer((s) => s.end('stolen')).listen(8080)"
const ASK = `const [, host, port] = process.argv; const s = require('node:net').connect(port, host);
s.on('data', (d) => console.log(String(d))).on('error', (e) => console.log(e.code)); setTimeout(() => process.exit(), 1000)`

asRoot('the node of a pod', () => {
  const machine = new Machine()
  const folder = mkdtempSync(path.join(tmpdir(), 'sampan-host-path-'))
  const annotations = { 'sampan.dev/host-path': folder }
  const events = (name: string) =>
    machine.kubectl(
      'get',
      'events',
      '--field-selector',
      `involvedObject.name=${name}`,
      '-o',
      'jsonpath={.items[*].message}',
    )
  beforeAll(async () => {
    writeFileSync(path.join(folder, 'hello'), 'hello\n')
    await machine.up('--api-port', '6443')
  })
  afterAll(async () => {
    await machine[Symbol.asyncDispose]()
    rmSync(folder, { recursive: true, force: true })
  })

  test('does not show a folder by an annotation unless it was started so', async () => {
    await machine.apply(podOf('shown', SLEEP, annotations))
    await eventually(
      () => events('shown'),
      (text) => text.includes('this node does not allow it; start the node with --allow-host-path'),
    )
    await machine.down()
    await machine.up('--api-port', '6443', '--allow-host-path')
    await machine.kubectl('wait', '--for=condition=Ready', 'pod/shown', '--timeout=60s')
    expect(await machine.kubectl('exec', 'shown', '--', 'cat', '/app/hello')).toBe('hello\n')
    await machine.down()
    await machine.up('--api-port', '6443', '--allow-host-path=false')
    await eventually(
      () => events('shown'),
      (text) => text.includes('this node does not allow it'),
    )
    await machine.kubectl('delete', 'pod', 'shown', '--now')
  })

  test('shows root of a pod neither its keys nor the data of the cluster', async () => {
    await machine.apply(podOf('curious', SLEEP))
    await machine.kubectl('wait', '--for=condition=Ready', 'pod/curious', '--timeout=60s')
    const places = ['/etc/shadow', '/etc/ssl/private', '/etc/ssh', '/var/lib', machine.dataDir, machine.folder]
    const script = `id -u; ls -d ${places.join(' ')} 2>/dev/null; ls -A /root /home`
    expect(await machine.kubectl('exec', 'curious', '--', 'sh', '-c', script)).toBe('0\n/home:\n\n/root:\n')
  })

  test('keeps its address and that of the API server from a Service that names them', async () => {
    const service = {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'thief' },
      spec: {
        selector: { app: 'thief' },
        externalIPs: [API_SERVER, NODE, OTHER],
        ports: [6443, 10250].map((port) => ({ name: `p${port}`, port, targetPort: 8080 })),
      },
    }
    await machine.apply(podOf('thief', ['node', '-e', THIEF]), service)
    await machine.kubectl('wait', '--for=condition=Ready', 'pod/thief', '--timeout=60s')
    const ask = (host: string, port: number) =>
      machine.kubectl('exec', 'curious', '--', 'node', '-e', ASK, host, String(port))
    await eventually(
      () => ask(OTHER, 6443),
      (text) => text.includes('stolen'),
    )
    expect(await ask(API_SERVER, 6443)).not.toContain('stolen')
    expect(await ask(NODE, 10250)).not.toContain('stolen')
    expect(await machine.onNode('node-1', process.execPath, '-e', ASK, API_SERVER, '6443')).not.toContain('stolen')
    const messages = await eventually(
      () => events('thief'),
      (text) => text.includes(NODE),
    )
    expect(messages).toContain(`${API_SERVER} is an address of the API server; the proxy does not take it`)
    expect(messages).toContain(`${NODE} is an address of a node; the proxy does not take it`)
  })
})
