import { MalformedMessage } from './message.ts'

const MAX_LABEL = 63
const MAX_NAME = 255
const POINTER = 0xc0
const DOT = 0x2e
const BACKSLASH = 0x5c

export interface ReadName {
  /** As written; `a.b`, with `\.` and `\ddd` for bytes that would be mistaken. */
  readonly name: string
  /** Where the next field begins. */
  readonly end: number
}

/** Reads a name, following pointers backwards only, so that no packet can make it run in circles. */
export function readName(packet: Buffer, start: number): ReadName {
  const labels: string[] = []
  let at = start
  let end = -1
  let limit = start
  let size = 1
  for (;;) {
    const length = packet[at]
    if (length === undefined) throw new MalformedMessage('a name leaves the packet', undefined)
    if (length === 0) return { name: labels.join('.'), end: end < 0 ? at + 1 : end }
    if ((length & POINTER) === POINTER) {
      const low = packet[at + 1]
      if (low === undefined) throw new MalformedMessage('a name leaves the packet', undefined)
      if (end < 0) end = at + 2
      at = ((length & 0x3f) << 8) | low
      if (at >= limit) throw new MalformedMessage('a name points forward', undefined)
      limit = at
      continue
    }
    size += length + 1
    if (length > MAX_LABEL || size > MAX_NAME || at + 1 + length > packet.length)
      throw new MalformedMessage('a name is too long', undefined)
    labels.push(labelText(packet, at + 1, at + 1 + length))
    at += 1 + length
  }
}

function labelText(packet: Buffer, start: number, end: number): string {
  for (let i = start; i < end; i++) if (isSpecial(packet[i]!)) return escaped(packet, start, end)
  return packet.toString('latin1', start, end)
}

const isSpecial = (byte: number) => byte === DOT || byte === BACKSLASH || byte <= 0x20 || byte >= 0x7f

function escaped(packet: Buffer, start: number, end: number): string {
  let text = ''
  for (const byte of packet.subarray(start, end)) {
    if (byte === DOT || byte === BACKSLASH) text += `\\${String.fromCharCode(byte)}`
    else if (isSpecial(byte)) text += `\\${String(byte).padStart(3, '0')}`
    else text += String.fromCharCode(byte)
  }
  return text
}

/** The labels of a name as bytes; undefined if it is none (an empty or too long label, too long altogether). */
export function labelsOf(name: string): Buffer[] | undefined {
  if (name === '') return []
  const labels: Buffer[] = []
  let size = 1
  for (const text of name.includes('\\') ? splitEscaped(name) : name.split('.')) {
    const label = Buffer.from(text.includes('\\') ? unescaped(text) : text, 'latin1')
    size += label.length + 1
    if (label.length === 0 || label.length > MAX_LABEL || size > MAX_NAME) return undefined
    labels.push(label)
  }
  return labels
}

const splitEscaped = (name: string) => name.match(/(?:[^.\\]|\\.)+|(?<=\.)(?=\.|$)|^(?=\.)/gs) ?? []

const unescaped = (text: string) =>
  text.replace(/\\(\d{3}|.)/gs, (_, what: string) =>
    what.length === 3 ? String.fromCharCode(Number(what) & 0xff) : what,
  )

/** The name without its first label; undefined of the root. */
export function parentOf(name: string): string | undefined {
  if (name === '') return undefined
  const dot = name.indexOf('.')
  return dot < 0 ? '' : name.slice(dot + 1)
}

/** Whether `name` is `zone` or below it. */
export const isWithin = (name: string, zone: string) =>
  zone === '' ||
  name === zone ||
  (name.length > zone.length && name.endsWith(zone) && name.charCodeAt(name.length - zone.length - 1) === DOT)

/** `Example.COM.` -> `example.com`. */
export const canonicalName = (name: string) => (name.endsWith('.') ? name.slice(0, -1) : name).toLowerCase()
