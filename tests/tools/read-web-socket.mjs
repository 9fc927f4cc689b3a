/** `node read-web-socket.mjs PATH PROTOCOL`: prints each message of a WebSocket of the API server as a line of base64. */
import { readFileSync } from 'node:fs'
import { WebSocket } from 'ws'
import { parse } from 'yaml'

const [path, protocol] = process.argv.slice(2)
const { clusters, users } = parse(readFileSync(process.env.KUBECONFIG, 'utf8'))
const decoded = (text) => Buffer.from(text, 'base64')
const { server, 'certificate-authority-data': ca } = clusters[0].cluster
const { 'client-certificate-data': cert, 'client-key-data': key } = users[0].user
const options = { ca: decoded(ca), cert: decoded(cert), key: decoded(key) }
const socket = new WebSocket(server.replace('https:', 'wss:') + path, [protocol], options)
socket.on('message', (data) => console.log(Buffer.from(data).toString('base64')))
