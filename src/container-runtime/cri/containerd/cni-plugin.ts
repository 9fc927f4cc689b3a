/**
 * containerd asks CNI plugins for the network of a sandbox. Ours is a messenger of a few lines: it carries the question to
 * this process, whose pod network answers. So pods on containerd have the same addresses, host ports and limits as all.
 */
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { createServer, type Server, type Socket } from 'node:net'
import path from 'node:path'
import { formatIP, parseIP } from '../../../base/ip-address.ts'
import type { Logger } from '../../../base/log.ts'
import type { PortMapping } from '../../sandbox-config.ts'
import type { SandboxNetwork } from '../../sandbox-network.ts'
import type { ContainerdPlaces } from './configuration.ts'

const CNI_VERSION = '1.0.0'
const PLUGIN = 'sampan'
const ANNOTATIONS = 'io.kubernetes.cri.pod-annotations'
const LINK = 'eth0'
const FAILED = 999

/** What the messenger brings. */
interface Question {
  readonly command: string
  readonly containerId: string
  readonly netns: string
  readonly args: string
  readonly configuration: {
    readonly runtimeConfig?: {
      readonly portMappings?: readonly {
        readonly hostPort?: number
        readonly containerPort?: number
        readonly protocol?: string
        readonly hostIP?: string
      }[]
      readonly [ANNOTATIONS]?: Readonly<Record<string, string>>
    }
  }
}

export async function writeCniPlugin(places: ContainerdPlaces): Promise<void> {
  for (const folder of [places.cniPlugins, places.cniConfiguration]) await mkdir(folder, { recursive: true })
  const capabilities = { portMappings: true, [ANNOTATIONS]: true }
  const list = { cniVersion: CNI_VERSION, name: PLUGIN, plugins: [{ type: PLUGIN, capabilities }] }
  await writeFile(path.join(places.cniConfiguration, '10-sampan.conflist'), JSON.stringify(list))
  const executable = { mode: 0o755 }
  await writeFile(path.join(places.cniPlugins, PLUGIN), messenger(places.cniSocket), executable)
  await writeFile(path.join(places.cniPlugins, 'loopback'), LOOPBACK, executable)
}

const VERSIONS = `{"cniVersion":"${CNI_VERSION}","supportedVersions":["0.3.0","0.3.1","0.4.0","${CNI_VERSION}"]}`

/** Runs for each question, in any version of Node. */
const messenger = (socket: string) => `#!${process.execPath}
const { CNI_COMMAND: command, CNI_CONTAINERID: containerId, CNI_NETNS: netns, CNI_ARGS: args } = process.env
const end = (answer, code) => process.stdout.write(answer, () => process.exit(code))
const fail = (msg) => end(JSON.stringify({ cniVersion: '${CNI_VERSION}', code: ${FAILED}, msg }), 1)
if (command === 'VERSION') end('${VERSIONS}', 0)
else {
  const configuration = JSON.parse(require('node:fs').readFileSync(0, 'utf8'))
  const socket = require('node:net').connect(${JSON.stringify(socket)})
  let answer = ''
  socket.on('error', (error) => fail('the node does not answer: ' + error.message))
  socket.on('data', (chunk) => (answer += chunk))
  socket.on('end', () => end(answer.slice(1), answer[0] === '+' ? 0 : 1))
  socket.end(JSON.stringify({ command, containerId, netns, args, configuration }))
}
`

/** The pod network brings loopback up itself; containerd wants a plugin of this name. */
const LOOPBACK = `#!/bin/sh
case $CNI_COMMAND in
  VERSION) echo '${VERSIONS}' ;;
  ADD) echo '{"cniVersion":"0.3.1","interfaces":[{"name":"lo","sandbox":"'"$CNI_NETNS"'"}]}' ;;
esac
`

/** Answers the messengers until it is disposed. */
export async function serveCni(socketPath: string, network: SandboxNetwork, log: Logger): Promise<AsyncDisposable> {
  await rm(socketPath, { force: true })
  const server: Server = createServer({ allowHalfOpen: true }, (socket: Socket) => {
    socket.on('error', () => socket.destroy())
    void reply(socket, network, log)
  })
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(socketPath, resolve))
  return {
    [Symbol.asyncDispose]: () => new Promise<void>((resolve) => server.close(() => resolve())),
  }
}

async function reply(socket: Socket, network: SandboxNetwork, log: Logger): Promise<void> {
  try {
    const question = JSON.parse(await all(socket)) as Question
    socket.end(`+${await answer(question, network)}`)
  } catch (error) {
    log.warn('the network of a sandbox failed', { error })
    const msg = error instanceof Error ? error.message : String(error)
    socket.end(`-${JSON.stringify({ cniVersion: CNI_VERSION, code: FAILED, msg })}`)
  }
}

/** Not by an iterator: that would close the other direction as well. */
function all(socket: Socket): Promise<string> {
  return new Promise((resolve) => {
    let text = ''
    socket.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk
    })
    socket.once('end', () => resolve(text))
  })
}

async function answer(question: Question, network: SandboxNetwork): Promise<string> {
  const { command, containerId: sandboxId, netns } = question
  if (command === 'DEL') await network.detach(sandboxId)
  if (command !== 'ADD') return ''
  const { runtimeConfig = {} } = question.configuration
  const { ips } = await network.attach({
    sandboxId,
    metadata: podOf(question.args),
    portMappings: (runtimeConfig.portMappings ?? []).map(
      ({ protocol = 'tcp', hostPort = 0, containerPort = 0, hostIP }): PortMapping => ({
        protocol: protocol.toUpperCase() as PortMapping['protocol'],
        hostPort,
        containerPort,
        ...(hostIP && { hostIp: hostIP }),
      }),
    ),
    annotations: runtimeConfig[ANNOTATIONS] ?? {},
    netnsPath: netns,
  })
  return JSON.stringify({
    cniVersion: CNI_VERSION,
    interfaces: [{ name: LINK, sandbox: netns }],
    ips: ips.map((ip) => ({ address: wholeAddress(ip), interface: 0 })),
  })
}

/** `K8S_POD_NAMESPACE=default;K8S_POD_NAME=web;…` */
function podOf(args: string) {
  const pairs = args.split(';').map((pair) => pair.split('=', 2) as [string, string | undefined])
  const values = new Map(pairs)
  const value = (name: string) => values.get(`K8S_POD_${name}`) ?? ''
  return { name: value('NAME'), namespace: value('NAMESPACE'), uid: value('UID'), attempt: 0 }
}

function wholeAddress(ip: string): string {
  const parsed = parseIP(ip)
  return parsed ? `${formatIP(parsed)}/${parsed.family === 'IPv6' ? 128 : 32}` : ip
}
