import { expect, test } from 'vitest'
import { HtmlRewriter } from './html-rewriter.ts'
import { rewriteLocation } from './rewrite-location.ts'

const place = { prefix: '/p', hosts: ['10.0.0.1:80'] }

function rewrite(page: string, pieceLength = page.length || 1): string {
  const rewriter = new HtmlRewriter((link) => rewriteLocation(link, place))
  let output = ''
  for (let at = 0; at < page.length; at += pieceLength) output += rewriter.write(page.slice(at, at + pieceLength))
  return output + rewriter.end()
}

const LONG = `/${'x'.repeat(10_000)}`

const PAGES: readonly (readonly [page: string, expected: string])[] = [
  ['<a href="/x">/x</a>', '<a href="/p/x">/x</a>'],
  ["<img alt='/y' src = '/x'>", "<img alt='/y' src = '/p/x'>"],
  ['<A HREF=/x CLASS=/y>', '<A HREF=/p/x CLASS=/y>'],
  ['<a href=/x>', '<a href=/p/x>'],
  ['<a href="/x"href="/y"/>', '<a href="/p/x"href="/p/y"/>'],
  ['<a href>"/x"<b src="/x">', '<a href>"/x"<b src="/p/x">'],
  ['<a href=>', '<a href=>'],
  ['<a title="a > b" href="/x">', '<a title="a > b" href="/p/x">'],
  ['<a data-href="/x">', '<a data-href="/x">'],
  ['<a xhref="/x" hrefx="/x">', '<a xhref="/x" hrefx="/x">'],
  ['<!-- <a href="/x"> -->', '<!-- <a href="/x"> -->'],
  ['<!-- a -- > --><a href="/x">', '<!-- a -- > --><a href="/p/x">'],
  ['<!--><a href="/x">', '<!--><a href="/p/x">'],
  ['<!doctype html><a href="/x">', '<!doctype html><a href="/p/x">'],
  ['<!-><a href="/x">', '<!-><a href="/p/x">'],
  ['<script src="/s.js">f(\'<a href="/x">\')</script>', '<script src="/p/s.js">f(\'<a href="/x">\')</script>'],
  ['<style></styles <a href="/x"></STYLE ><a href="/x">', '<style></styles <a href="/x"></STYLE ><a href="/p/x">'],
  ['<script><</script><a href="/x">', '<script><</script><a href="/p/x">'],
  ['<textarea><a href="/x"></textarea><a href="/x">', '<textarea><a href="/x"></textarea><a href="/p/x">'],
  ['</a href="/x"><b href="/x">', '</a href="/x"><b href="/p/x">'],
  ['<<a href="/x">', '<<a href="/p/x">'],
  ['<a href="http://10.0.0.1:80/x">', '<a href="/p/x">'],
  ['<a href="https://elsewhere/">', '<a href="https://elsewhere/">'],
  ['<a href="\u00e4\u00f6"><a href="/\u00fc">', '<a href="\u00e4\u00f6"><a href="/p/\u00fc">'],
  ['1 < 2 and "/x"', '1 < 2 and "/x"'],
  ['<a href="/never ends', '<a href="/never ends'],
  [`<a href="${LONG}"><a href="/x">`, `<a href="${LONG}"><a href="/p/x">`],
  ['', ''],
]

test.each(PAGES)('%s is seen as %s', (page, expected) => expect(rewrite(page)).toBe(expected))

test.each([1, 2, 3, 5, 7, 4096])('pieces of %i characters give the same page', (length) => {
  for (const [page, expected] of PAGES) expect(rewrite(page, length)).toBe(expected)
})

// Where the work for a character depends on what came before, these take hours.
test.each(['<a', '<', '<!--', '<a href="', '<a href=', '<script>', '</script', '<a ', "<a href='/x", '-->', '</'])(
  'a page of nothing but %s comes through as it is, in pieces too',
  (part) => {
    const page = part.repeat(1 << 18)
    for (const length of [page.length, 16 * 1024])
      expect(rewrite(page, length).replaceAll('/p/x', '/x') === page).toBe(true)
  },
)
