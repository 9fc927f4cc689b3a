/**
 * Reads the types that a Go program carries for reflection: names, fields with their tags, what is a pointer. The
 * layout is that of `internal/abi` on 64-bit machines; the program is pinned, so the layout is too.
 */
const KIND = { array: 17, map: 21, pointer: 22, slice: 23, struct: 25 }
const KINDS = ['', 'bool', 'int', 'int', 'int', 'int', 'int', 'uint', 'uint', 'uint', 'uint', 'uint', 'uint']
const OTHER_KINDS = {
  13: 'float',
  14: 'float',
  17: 'array',
  21: 'map',
  22: 'pointer',
  23: 'slice',
  24: 'string',
  25: 'struct',
}
const FLAG = { uncommon: 1, extraStar: 2, named: 4 }
/** Sizes of a type's own part; what is known of named types stands behind it. */
const SIZES = { [KIND.array]: 72, [KIND.pointer]: 56, [KIND.slice]: 56, [KIND.struct]: 80 }
const BASIC_SIZE = 48
const STRING = 24
const FIELD_SIZE = 24
const NOBITS = 8

/** All types of a program: `{ kind, name, package, named, elem, key, fields: [{ name, tag, embedded, type }] }`. */
export function readGoTypes(program) {
  const sections = readSections(program)
  const reader = new TypeReader(program, sections)
  const links = sections.get('.typelink')
  for (let at = 0; at < links.size; at += 4)
    reader.typeAt(reader.types.address + program.readInt32LE(links.offset + at))
  return [...reader.known.values()]
}

function readSections(program) {
  const table = Number(program.readBigUInt64LE(0x28))
  const rows = Array.from({ length: program.readUInt16LE(0x3c) }, (_, index) => table + index * 64)
  const read = (row) => ({
    type: program.readUInt32LE(row + 4),
    address: Number(program.readBigUInt64LE(row + 16)),
    offset: Number(program.readBigUInt64LE(row + 24)),
    size: Number(program.readBigUInt64LE(row + 32)),
  })
  const names = read(rows[program.readUInt16LE(0x3e)])
  const nameOf = (row) => {
    const start = names.offset + program.readUInt32LE(row)
    return program.toString('latin1', start, program.indexOf(0, start))
  }
  return new Map(rows.map((row) => [nameOf(row), read(row)]))
}

class TypeReader {
  known = new Map()

  constructor(program, sections) {
    this.program = program
    this.loaded = [...sections.values()].filter((section) => section.type !== NOBITS && section.address !== 0)
    this.types = sections.get('.rodata')
  }

  typeAt(address) {
    const known = this.known.get(address)
    if (known) return known
    const at = this.#offset(address)
    const kind = this.program[at + 23] & 31
    const flags = this.program[at + 20]
    const type = { kind: KINDS[kind] ?? OTHER_KINDS[kind] ?? 'other', named: (flags & FLAG.named) !== 0 }
    // Known before it is complete: types refer to themselves.
    this.known.set(address, type)
    const text = this.#relativeName(at + 40)
    type.name = (flags & FLAG.extraStar) !== 0 ? text.slice(1) : text
    type.package = (flags & FLAG.uncommon) !== 0 ? this.#packageOf(at, kind) : undefined
    if (kind === KIND.pointer || kind === KIND.slice || kind === KIND.array) type.elem = this.#typeBehind(at + 48)
    if (kind === KIND.map) Object.assign(type, { key: this.#typeBehind(at + 48), elem: this.#typeBehind(at + 56) })
    if (kind === KIND.struct) type.fields = this.#fields(at)
    return type
  }

  #fields(at) {
    const first = this.#pointer(at + 56)
    const count = this.#pointer(at + 64)
    if (count === 0) return []
    const start = this.#offset(first)
    return Array.from({ length: count }, (_, index) => {
      const field = start + index * FIELD_SIZE
      return { ...this.#name(this.#offset(this.#pointer(field))), type: this.#typeBehind(field + 8) }
    })
  }

  #packageOf(at, kind) {
    const size = kind < KIND.array || kind === STRING ? BASIC_SIZE : SIZES[kind]
    return size === undefined ? undefined : this.#relativeName(at + size)
  }

  #typeBehind(at) {
    return this.typeAt(this.#pointer(at))
  }

  #relativeName(at) {
    return this.#name(this.types.offset + this.program.readInt32LE(at)).name
  }

  /** A byte of flags, the name, and the tag if there is one; each text behind its length. */
  #name(at) {
    const [name, end] = this.#text(at + 1)
    const flags = this.program[at]
    return { name, tag: (flags & 2) !== 0 ? this.#text(end)[0] : '', embedded: (flags & 8) !== 0 }
  }

  #text(at) {
    let start = at
    let length = 0
    for (let shift = 0; ; shift += 7) {
      const byte = this.program[start++]
      length |= (byte & 0x7f) << shift
      if (byte < 0x80) break
    }
    return [this.program.toString('utf8', start, start + length), start + length]
  }

  #pointer(at) {
    return Number(this.program.readBigUInt64LE(at))
  }

  #offset(address) {
    for (const { address: start, size, offset } of this.loaded)
      if (address >= start && address < start + size) return offset + address - start
    throw new Error(`address ${address.toString(16)} is in no section`)
  }
}
