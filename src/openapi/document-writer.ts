import { WireWriter } from '../protobuf/wire-writer.ts'

/** Writes an OpenAPI document as protobuf and leaves out fields that have their default value. */
export class DocumentWriter {
  readonly #wire: WireWriter

  constructor(capacity: number) {
    this.#wire = new WireWriter(capacity)
  }

  string(field: number, value: string | undefined): void {
    if (value) this.#wire.text(field, value)
  }

  bool(field: number, value: boolean): void {
    if (value) this.#wire.int(field, 1)
  }

  int(field: number, value: number | undefined): void {
    if (value) this.#wire.int(field, value)
  }

  double(field: number, value: number | undefined): void {
    if (value) this.#wire.double(field, value)
  }

  /** Writes a nested message, even an empty one: its presence may matter. */
  message(field: number, write: (writer: DocumentWriter) => void): void {
    const before = this.#wire.written
    write(this)
    this.#wire.closeBytes(field, before)
  }

  /** Writes items of a repeated field. The wire writer goes backwards, so the last item comes first. */
  each<T>(items: readonly T[], write: (item: T) => void): void {
    for (let i = items.length - 1; i >= 0; i--) write(items[i]!)
  }

  /** Writes a nested message that was encoded in parts. */
  parts(field: number, parts: readonly Buffer[]): void {
    const before = this.#wire.written
    this.each(parts, (part) => this.#wire.raw(part))
    this.#wire.closeBytes(field, before)
  }

  finish(): Buffer {
    return this.#wire.take()
  }
}
