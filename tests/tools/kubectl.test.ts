import { execFileSync } from 'node:child_process'
import { deflateRawSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { helm, KUBECTL_VERSIONS, kubectl, kubectlRunsHere } from './kubectl.ts'
import { readZipEntry } from './zip.ts'

/** A ZIP of one entry, written by hand. */
function zipOf(name: string, content: Buffer, deflate: boolean): Buffer {
  const packed = deflate ? deflateRawSync(content) : content
  const header = Buffer.alloc(30)
  header.writeUInt32LE(0x04034b50, 0)
  header.writeUInt16LE(name.length, 26)
  const entry = Buffer.alloc(46)
  entry.writeUInt32LE(0x02014b50, 0)
  entry.writeUInt16LE(deflate ? 8 : 0, 10)
  entry.writeUInt32LE(packed.length, 20)
  entry.writeUInt16LE(name.length, 28)
  const end = Buffer.alloc(22)
  end.writeUInt32LE(0x06054b50, 0)
  end.writeUInt16LE(1, 10)
  end.writeUInt32LE(header.length + name.length + packed.length, 16)
  return Buffer.concat([header, Buffer.from(name), packed, entry, Buffer.from(name), end])
}

describe('zip', () => {
  test.each([true, false])('deflated %s', (deflate) => {
    const content = Buffer.from('a sampan is a small boat '.repeat(20))
    expect(readZipEntry(zipOf('bin/boat', content, deflate), 'bin/boat')).toEqual(content)
  })
  test('names what is missing', () => {
    expect(() => readZipEntry(zipOf('a', Buffer.from('x'), false), 'b')).toThrow('no b in the archive')
  })
})

describe.runIf(kubectlRunsHere)('kubectl binaries', () => {
  test.each(KUBECTL_VERSIONS)('%s', async (version) => {
    const output = execFileSync(await kubectl(version), ['version', '--client', '-o', 'json'], { encoding: 'utf8' })
    expect(JSON.parse(output).clientVersion.gitVersion).toMatch(new RegExp(`^v${version}\\.`))
    expect(execFileSync(await helm(version), ['version', '--short'], { encoding: 'utf8' })).toMatch(/^v[34]\./)
  })
})
