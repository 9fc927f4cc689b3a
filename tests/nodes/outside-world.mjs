// The world beyond a machine, in a network of its own: a web server, a name server, and an echo of datagrams.
import { createHash } from 'node:crypto'
import { createSocket } from 'node:dgram'
import { createServer as createWebServer } from 'node:http'
import { createServer } from 'node:net'

const [address] = process.argv.slice(2)
const BIG = Buffer.alloc(8 * 1024 * 1024, 'sampan')

createWebServer(async (request, response) => {
  if (request.method === 'GET') return response.end(request.url === '/big' ? BIG : `hello from ${address}`)
  const hash = createHash('sha256')
  for await (const chunk of request) hash.update(chunk)
  response.end(hash.digest('hex'))
}).listen(80, address)

// Answers only when the other side has said all it wants to say.
createServer({ allowHalfOpen: true }, (socket) => {
  let length = 0
  socket.on('data', (chunk) => (length += chunk.length)).on('end', () => socket.end(`${length} bytes`))
}).listen(7, address)

const echo = createSocket('udp4').bind(7, address)
echo.on('message', (message, { address, port }) => echo.send(message, port, address))

// Every name has this address.
const names = createSocket('udp4').bind(53, address)
names.on('message', (query, { address: asker, port }) => {
  let end = 12
  while (query[end] !== 0) end += query[end] + 1
  const isA = query.readUInt16BE(end + 1) === 1
  const header = Buffer.from(query.subarray(0, 12))
  header.writeUInt16BE(0x8180, 2)
  header.writeUInt16BE(isA ? 1 : 0, 6)
  header.writeUInt32BE(0, 8)
  const answer = Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, ...address.split('.').map(Number)])
  names.send(Buffer.concat([header, query.subarray(12, end + 5), ...(isA ? [answer] : [])]), port, asker)
})
names.on('listening', () => console.log('ready'))
