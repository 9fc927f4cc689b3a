import type { IncomingMessage } from 'node:http'
import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import { type ProxiedPlace, rewriteLocation } from './rewrite-location.ts'

const decompress = promisify(gunzip)

/** Longer pages go through as they are. */
const MAX_PAGE_BYTES = 8 * 1024 * 1024

/** Comments, what is between the tags of scripts and styles, and all other tags. */
const PIECES = /<!--[\s\S]*?-->|(<(script|style)\b[^>]*>)([\s\S]*?<\/\2\s*>)|<[a-z][^>]*>/gi
/** Attributes that hold a link, in whichever tag. */
const LINKS =
  /(\s(?:href|src|action|formaction|cite|background|codebase|classid|data|icon|longdesc|manifest|poster|profile|usemap)\s*=\s*)("[^"]*"|'[^']*')/gi

/** Links of a page lead back through the proxy, as its redirects do. */
export function rewriteHtml(page: string, place: ProxiedPlace): string {
  const rewritten = (tag: string) =>
    tag.replace(LINKS, (_, name: string, value: string) => {
      const quote = value[0]!
      return name + quote + rewriteLocation(value.slice(1, -1), place) + quote
    })
  return page.replace(PIECES, (piece, opening?: string, _name?: string, content?: string) => {
    if (piece.startsWith('<!--')) return piece
    return opening === undefined ? rewritten(piece) : rewritten(opening) + content
  })
}

/** The page of an answer with its links rewritten; undefined if it is none, or cannot be read. */
export async function rewrittenPage(response: IncomingMessage, place: ProxiedPlace): Promise<Buffer | undefined> {
  const { 'content-type': type = '', 'content-encoding': encoding, 'content-length': length } = response.headers
  const isReadable = encoding === undefined || encoding === 'gzip'
  if (!/^text\/html\b/i.test(type) || !isReadable || Number(length) > MAX_PAGE_BYTES) return undefined
  const body = await readUpTo(response, MAX_PAGE_BYTES)
  if (!body) return undefined
  const page = encoding === 'gzip' ? await decompress(body, { maxOutputLength: MAX_PAGE_BYTES }) : body
  return Buffer.from(rewriteHtml(page.toString('utf8'), place))
}

/** The whole body; undefined if it is longer, and then it can still be read from its beginning. */
async function readUpTo(response: IncomingMessage, limit: number): Promise<Buffer | undefined> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of response.iterator({ destroyOnReturn: false })) {
    chunks.push(chunk as Buffer)
    size += (chunk as Buffer).length
    if (size <= limit) continue
    response.unshift(Buffer.concat(chunks))
    return undefined
  }
  return Buffer.concat(chunks)
}
