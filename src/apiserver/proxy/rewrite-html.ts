import type { IncomingMessage } from 'node:http'
import { Transform } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { HtmlRewriter } from './html-rewriter.ts'
import { type ProxiedPlace, rewriteLocation } from './rewrite-location.ts'

/** Of longer pages only the beginning is rewritten. */
const MAX_REWRITTEN_BYTES = 8 * 1024 * 1024
/** A page that inflates to more than this is broken off. */
const MAX_INFLATED_BYTES = 64 * 1024 * 1024

/**
 * What the body of an answer has to pass so that its links lead back through the proxy, as its redirects do; undefined if
 * it is no page, or cannot be read. What comes out is not compressed.
 */
export function pageRewriters({ headers }: IncomingMessage, place: ProxiedPlace): Transform[] | undefined {
  const { 'content-type': type = '', 'content-encoding': encoding } = headers
  if (!/^text\/html\b/i.test(type)) return undefined
  if (encoding === undefined) return [rewriting(place)]
  return encoding === 'gzip' ? [createGunzip(), rewriting(place, MAX_INFLATED_BYTES)] : undefined
}

function rewriting(place: ProxiedPlace, limit = Number.POSITIVE_INFINITY): Transform {
  const rewriter = new HtmlRewriter((link) => rewriteLocation(link, place))
  let size = 0
  return new Transform({
    transform(chunk: Buffer, _, done) {
      size += chunk.length
      if (size > limit) done(new Error('the page is too large'))
      else if (size <= MAX_REWRITTEN_BYTES) done(null, rewritten(chunk))
      else done(null, Buffer.concat([bytesOf(rewriter.end()), chunk]))
    },
    flush: (done) => done(null, bytesOf(rewriter.end())),
  })

  // Markup is ASCII in every encoding that pages use; all other bytes stay what they are.
  function rewritten(chunk: Buffer): Buffer {
    return bytesOf(rewriter.write(chunk.toString('latin1')))
  }
}

const bytesOf = (text: string) => Buffer.from(text, 'latin1')
