import assert from 'node:assert'
import { EventEmitter } from 'node:events'
import type { WebSocket } from 'ws'
import { WebSocketChannels } from '../../../src/client/streaming/web-socket-channels.ts'
import type { FuzzTarget } from '../engine/target.ts'

const CHANNELS = [0, 1, 2, 3, 4]

/** Messages of exec and port-forward over WebSocket; the first byte of a message says how long it is. */
export const target: FuzzTarget = {
  steps: { fixed: 3000, perByte: 100 },
  dictionary: ['\x02\xff\x01', '\x04\x01abc', '\x010', '\x051YWJj', '\x02\xff\xff'],
  run: (input) => [false, true].map((isBase64) => received(input, isBase64)),
}

function received(input: Buffer, isBase64: boolean): string[] {
  const socket = Object.assign(new EventEmitter(), { pause() {}, resume() {} })
  const channels = new WebSocketChannels(socket as unknown as WebSocket, { isBase64, canHalfClose: !isBase64 })
  const readers = CHANNELS.map((channel) => channels.reader(channel))
  for (let at = 0; at < input.length; at += 1 + input[at]!)
    socket.emit('message', input.subarray(at + 1, at + 1 + input[at]!))
  const texts = readers.map((reader) => (reader.read() as Buffer | null)?.toString('latin1') ?? '')
  assert(texts.join('').length <= input.length, 'there is more data than input')
  for (const reader of readers) reader.destroy()
  return texts
}
