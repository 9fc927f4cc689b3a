/** Disposes what was used, in reverse order, once. */
export class AsyncDisposables {
  readonly #items: AsyncDisposable[] = []

  use<T extends AsyncDisposable>(item: T): T {
    this.#items.push(item)
    return item
  }

  async dispose(): Promise<void> {
    for (let item = this.#items.pop(); item; item = this.#items.pop()) await item[Symbol.asyncDispose]()
  }
}
