/** Where in an object a field is, written the way kubectl users know: `spec.ports[0].nodePort`. Cheap until printed. */
export class FieldPath {
  readonly #parent: FieldPath | undefined
  readonly #element: string

  private constructor(parent: FieldPath | undefined, element: string) {
    this.#parent = parent
    this.#element = element
  }

  static root(name: string): FieldPath {
    return new FieldPath(undefined, name)
  }

  /** `spec` -> `spec.template.metadata` */
  child(...names: string[]): FieldPath {
    let path: FieldPath = this
    for (const name of names) path = new FieldPath(path, `.${name}`)
    return path
  }

  /** `spec.ports` -> `spec.ports[3]` */
  index(index: number): FieldPath {
    return new FieldPath(this, `[${index}]`)
  }

  /** `metadata.labels` -> `metadata.labels[app]` */
  key(key: string): FieldPath {
    return new FieldPath(this, `[${key}]`)
  }

  toString(): string {
    const elements: string[] = []
    for (let path: FieldPath | undefined = this; path; path = path.#parent) elements.push(path.#element)
    return elements.reverse().join('')
  }
}
