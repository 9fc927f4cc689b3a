import { badRequest } from '../../api/meta/api-error.ts'

/** Query parameters by name; the first value counts. */
export class Query {
  static readonly EMPTY = new Query(new Map())
  readonly #values: ReadonlyMap<string, string>
  readonly #text: string | undefined

  private constructor(values: ReadonlyMap<string, string>, text?: string) {
    this.#values = values
    this.#text = text
  }

  static parse(text: string): Query {
    if (text === '') return Query.EMPTY
    const values = new Map<string, string>()
    for (const [name, value] of new URLSearchParams(text)) if (!values.has(name)) values.set(name, value)
    return new Query(values, text)
  }

  static of(values: Readonly<Record<string, string>> | undefined): Query {
    return values ? new Query(new Map(Object.entries(values))) : Query.EMPTY
  }

  /** Every value of every name, for requests that are passed on. */
  get parameters(): URLSearchParams {
    return new URLSearchParams(this.#text ?? [...this.#values])
  }

  get(name: string): string {
    return this.#values.get(name) ?? ''
  }

  has(name: string): boolean {
    return this.#values.has(name)
  }

  /** As upstream decodes queries: everything but `0` and `false`, in any case, stands for yes, also an empty value. */
  flag(name: string): boolean {
    const value = this.#values.get(name)
    return value !== undefined && value !== '0' && value.toLowerCase() !== 'false'
  }

  integer(name: string): number | undefined {
    const text = this.#values.get(name)
    if (text === undefined || text === '') return undefined
    if (!/^-?\d{1,18}$/.test(text)) {
      throw badRequest(
        `invalid value for query parameter ${name}: strconv.ParseInt: parsing ${JSON.stringify(text)}: invalid syntax`,
      )
    }
    return Number(text)
  }
}
