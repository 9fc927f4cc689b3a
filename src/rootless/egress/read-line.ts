import type { Socket } from 'node:net'

const LONGEST = 128

/** The first line; what follows it stays to be read. */
export function readLine(socket: Socket): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = Buffer.alloc(0)
    const settle = (done: () => void) => {
      socket.off('readable', onReadable).off('close', onClose).off('end', onClose)
      done()
    }
    const onClose = () => settle(() => reject(new Error('closed')))
    const onReadable = () => {
      for (let byte = socket.read(1) as Buffer | null; byte !== null; byte = socket.read(1) as Buffer | null) {
        if (byte[0] === 0x0a) return settle(() => resolve(text.toString()))
        text = Buffer.concat([text, byte])
        if (text.length > LONGEST) return settle(() => reject(new Error('too long a line')))
      }
    }
    socket.on('readable', onReadable).on('close', onClose).on('end', onClose)
  })
}
