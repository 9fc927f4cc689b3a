import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { bodyLengthOf, isRequestTarget, refusalOf } from './http-request.ts'

const server = createServer((request, response) => {
  last = request
  const refusal = refusalOf(request)
  response.writeHead(refusal?.status ?? 200, { connection: 'close' }).end()
})
let last: IncomingMessage | undefined
beforeAll(() => once(server.listen(0, '127.0.0.1'), 'listening'))
afterAll(() => new Promise((resolve) => server.close(resolve)))

/** The status that a server with these rules answers. */
async function statusOf(...lines: string[]): Promise<number> {
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  socket.write(`${lines.join('\r\n')}\r\n\r\n`, 'latin1')
  let text = ''
  socket.on('data', (chunk) => {
    text += chunk
  })
  await once(socket, 'close')
  return Number(text.split(' ')[1])
}

describe('refusalOf', () => {
  it.each([
    [200, ['GET /a?b HTTP/1.1', 'Host: a']],
    [200, ['OPTIONS * HTTP/1.1', 'Host: a']],
    [400, ['GET /\xe4 HTTP/1.1', 'Host: a']],
    [200, ['POST / HTTP/1.1', 'Host: a', 'Transfer-Encoding: Chunked', '', '0']],
    [400, ['GET / HTTP/1.1', 'Host: a', 'hOST: a']],
    [400, ['GET /a#b HTTP/1.1', 'Host: a']],
    [400, ['GET https://admin@b/a HTTP/1.1', 'Host: a']],
    [400, ['GET ftp://b/a HTTP/1.1', 'Host: a']],
    [400, ['POST / HTTP/1.0', 'Transfer-Encoding: chunked', '', '0']],
    [501, ['POST / HTTP/1.1', 'Host: a', 'Transfer-Encoding: gzip, chunked', '', '0']],
  ])('%i for %j', async (status, lines) => expect(await statusOf(...lines)).toBe(status))

  it.each([
    ['https://b:1/a?c', '/a?c', 'b:1'],
    ['HTTP://b', '/', 'b'],
    ['https://b?c', '/?c', 'b'],
  ])('takes %s for %s of the host %s', async (target, path, host) => {
    expect(await statusOf(`GET ${target} HTTP/1.1`, 'Host: a')).toBe(200)
    expect([last?.url, last?.headers.host]).toEqual([path, host])
  })
})

it.each([
  [['POST / HTTP/1.1', 'Host: a', 'Transfer-Encoding: chunked', '', '0'], undefined],
  [['POST / HTTP/1.1', 'Host: a', 'Content-Length: 0'], 0],
  [['GET / HTTP/1.1', 'Host: a'], 0],
])('the body of %j has the length %s', async (lines, length) => {
  await statusOf(...lines)
  expect(bodyLengthOf(last!)).toBe(length)
})

it.each([
  ['/', true],
  ['/a?b', true],
  ['*', true],
  ['', false],
  ['a', false],
  ['https://a/', false],
  ['/a b', false],
  ['/a\t', false],
  ['/a\x7f', false],
])('isRequestTarget(%j) is %s', (text, expected) => expect(isRequestTarget(text)).toBe(expected))
