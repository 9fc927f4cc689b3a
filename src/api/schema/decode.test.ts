import { describe, expect, it } from 'vitest'
import { builtinSchema } from './builtin.ts'
import { checkShape } from './check-shape.ts'
import { decodeJson, strictProblems } from './decode.ts'
import { decodeYaml } from './decode-yaml.ts'
import { findDuplicateFields, readJson } from './json-reader.ts'
import { countKeys, scanJson } from './json-scan.ts'

describe('scanJson', () => {
  it.each<[text: string, keys: number, depth: number]>([
    ['{}', 0, 1],
    ['{"a":{"b":[1,{"c":"x:y"}]}}', 3, 4],
    ['{"a\\":{[":"\\\\","b":1}', 2, 1],
    ['"unfinished', 0, 0],
    ['', 0, 0],
  ])('%s', (text, keys, depth) => {
    expect(scanJson(Buffer.from(text))).toMatchObject({ keys, depth })
  })

  it('counts what countKeys counts', () => {
    const value = { a: [{ b: 1 }, [{ c: null }]], d: { 'e:{': { f: ':' } } }
    expect(scanJson(Buffer.from(JSON.stringify(value))).keys).toBe(countKeys(value))
  })
})

describe('findDuplicateFields', () => {
  it.each<[text: string, fields: string[]]>([
    ['{"a":1,"b":{"a":1}}', []],
    ['{"a":1,"a":2,"a":3}', ['a']],
    ['{"spec":{"x":[{"y":1},{"y":1,"z":2,"y":3}],"w":1,"w":2}}', ['spec.x[1].y', 'spec.w']],
    ['{"a":1,"\\u0061":2}', ['a']],
    ['{"__proto__":1,"__proto__":2}', ['__proto__']],
  ])('%s', (text, fields) => {
    expect(findDuplicateFields(text)).toEqual(fields)
  })
})

describe('halves of surrogate pairs', () => {
  it.each<[text: string, value: string]>([
    ['"\\ud83d\\ude00"', '\u{1f600}'],
    ['"a\\ud800b"', 'a\ufffdb'],
    ['"\\udc00\\ud800"', '\ufffd\ufffd'],
    ['"\\\\ud800"', '\\ud800'],
  ])('%s', (text, value) => {
    expect(decodeJson(Buffer.from(text)).value).toBe(value)
  })
})

describe('malformed JSON', () => {
  it.each<[text: string, error: string]>([
    ['', 'unexpected end of JSON input'],
    ['{', 'unexpected end of JSON input'],
    ['{"a":1', 'unexpected end of JSON input'],
    ['{"a', 'unexpected end of JSON input'],
    ['{a:1}', "invalid character 'a' looking for beginning of object key string"],
    ['{"a":1,}', "invalid character '}' looking for beginning of object key string"],
    ['{"a" 1}', "invalid character '1' after object key"],
    ['{"a":1 "b"}', `invalid character '"' after object key:value pair`],
    ['[1 2]', "invalid character '2' after array element"],
    ['{} x', "invalid character 'x' after top-level value"],
    ['{"a":nul}', "invalid character '}' in literal null (expecting 'l')"],
    ['{"a":01}', "invalid character '1' after object key:value pair"],
    ['{"a":1.x}', "invalid character 'x' after decimal point in numeric literal"],
    ['{"a":"\n"}', "invalid character '\\n' in string literal"],
    ['{"a":"\\x"}', "invalid character 'x' in string escape code"],
    ['apiVersion: v1', "invalid character 'a' looking for beginning of value"],
  ])('%j', (text, error) => {
    expect(readJson(text)).toBe(error)
    expect(() => decodeJson(Buffer.from(text))).toThrow(`json parse error: ${error}`)
  })

  it.each<[bytes: Buffer, error: string]>([
    [Buffer.from(''), `couldn't get version/kind; json parse error: unexpected end of JSON input (<empty>)`],
    [Buffer.from('{"a"'), `couldn't get version/kind; json parse error: unexpected end of JSON input ({"a")`],
    [
      Buffer.from('[]'),
      'couldn\'t get version/kind; json parse error: json: cannot unmarshal array into Go value of type struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" } (5b5d)',
    ],
    [Buffer.from('x'.repeat(40)), `invalid character 'x' looking for beginning of value (${'78'.repeat(30)} ...)`],
  ])('%s instead of a Pod', (bytes, error) => {
    expect(() => decodeJson(bytes, 'Pod')).toThrow('the object provided is unrecognized (must be of type Pod): ')
    expect(() => decodeJson(bytes, 'Pod')).toThrow(error)
  })

  it('refuses invalid UTF-8 and deep nesting', () => {
    expect(() => decodeJson(Buffer.from([0x22, 0xff, 0x22]))).toThrow('invalid UTF-8')
    expect(() => decodeJson(Buffer.from('['.repeat(1_000_000)))).toThrow('exceeded max depth')
    expect(decodeJson(Buffer.from('"é"')).value).toBe('é')
  })
})

describe('strictProblems', () => {
  const problems = (text: string) => {
    const body = decodeJson(Buffer.from(text))
    const schema = builtinSchema('io.k8s.api.apps.v1.Deployment')
    return strictProblems(body, checkShape(body.value as object, schema, { prune: true, defaults: true }))
  }
  it.each<[text: string, expected: string[]]>([
    ['{"spec":{"paused":true,"template":{"spec":{"containers":[{"ports":[{"containerPort":1}]}]}}}}', []],
    ['{"spec":{"a":1,"b":2}}', ['unknown field "spec.a"', 'unknown field "spec.b"']],
    [
      '{"spec":{"a":1,"a":2,"paused":true,"paused":false,"template":{"b":{"c":1,"c":2}}}}',
      ['unknown field "spec.a"', 'duplicate field "spec.paused"', 'unknown field "spec.template.b"'],
    ],
    ['{"metadata":{"labels":{"x":"1","x":"2"}}}', ['duplicate field "metadata.labels.x"']],
  ])('%s', (text, expected) => {
    expect(problems(text)).toEqual(expected)
  })
})

describe('YAML', () => {
  it.each<[text: string, value: unknown]>([
    ['a: yes\nb: on\nc: "no"\nd: 0644\ne: 1_000\nf: ~', { a: true, b: true, c: 'no', d: 420, e: 1000, f: null }],
    ['at: 2024-01-01T00:00:00Z\nratio: 1:20', { at: '2024-01-01T00:00:00Z', ratio: '1:20' }],
    ['a: &x {b: 1}\nc: *x\nd: {<<: *x, e: 2}', { a: { b: 1 }, c: { b: 1 }, d: { b: 1, e: 2 } }],
    ['{"json": [1, true]}', { json: [1, true] }],
    ['1: a\ntrue: b', { 1: 'a', true: 'b' }],
    ['a: 1\n---\na: 2', { a: 1 }],
  ])('%j', async (text, value) => {
    expect((await decodeYaml(text)).value).toEqual(value)
  })

  it('refuses invalid UTF-8', async () => {
    await expect(decodeYaml(Buffer.from([0x61, 0x3a, 0x20, 0xff]))).rejects.toThrow('yaml: control characters')
  })

  it('makes no object shared by aliases', async () => {
    const { value } = await decodeYaml('a: &x {b: 1}\nc: *x')
    const { a, c } = value as { a: object; c: object }
    expect(a).not.toBe(c)
  })

  it('names keys that come twice, and keeps the last', async () => {
    const body = await decodeYaml('a: 1\nb:\n  c: 1\n  c: 2\na: 3')
    expect(body.value).toEqual({ a: 3, b: { c: 2 } })
    expect(body.duplicates).toEqual([
      'yaml: unmarshal errors:\n  line 4: key "c" already set in map\n  line 5: key "a" already set in map',
    ])
  })

  it.each([
    ['a: [1', 'error converting YAML to JSON: yaml: '],
    ['a: b: c', 'error converting YAML to JSON: yaml: line 1'],
    ['['.repeat(20_000), 'error converting YAML to JSON'],
    [
      `a: &a [1,1,1,1,1,1,1,1,1]\n${[...'bcdefghi'].map((c, i) => `${c}: &${c} [${`*${'abcdefgh'[i]},`.repeat(9)}]`).join('\n')}`,
      'aliases',
    ],
  ])('refuses %.30j', async (text, message) => {
    await expect(decodeYaml(text)).rejects.toThrow(message)
  })
})

describe('YAML nested too deep is refused before it is composed', () => {
  it.each([
    ['flow sequences', '['.repeat(100_000)],
    ['flow maps', '{a: '.repeat(50_000)],
    ['block sequences', '- '.repeat(50_000)],
    ['block maps', Array.from({ length: 1000 }, (_, i) => `${' '.repeat(i)}a:`).join('\n')],
    ['keys', '? '.repeat(50_000)],
  ])('%s', async (_, text) => {
    await expect(decodeYaml(text)).rejects.toMatchObject({ code: 400 })
  })
})
