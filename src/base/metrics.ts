/**
 * A small Prometheus registry. Bind label values once (`metric.labels(...)`) and keep the child: the hot path is then
 * one addition. Text exposition format 0.0.4.
 */
export class MetricsRegistry {
  readonly #families = new Map<string, Family>()

  counter(name: string, help: string, labelNames: readonly string[] = []): Labelled<Counter> {
    return this.#add(name, help, 'counter', labelNames, () => new Counter())
  }

  gauge(name: string, help: string, labelNames: readonly string[] = []): Labelled<Gauge> {
    return this.#add(name, help, 'gauge', labelNames, () => new Gauge())
  }

  /** `buckets` are upper bounds in growing order; `+Inf` is added. */
  histogram(
    name: string,
    help: string,
    labelNames: readonly string[] = [],
    buckets: readonly number[] = DEFAULT_BUCKETS,
  ): Labelled<Histogram> {
    return this.#add(name, help, 'histogram', labelNames, () => new Histogram(buckets))
  }

  /** Everything, as a scrape answers it (`text/plain; version=0.0.4`). */
  expose(): string {
    let text = ''
    for (const family of this.#families.values()) {
      text += `# HELP ${family.name} ${escapeHelp(family.help)}\n# TYPE ${family.name} ${family.type}\n`
      for (const child of family.metric.children()) text += child.metric.expose(family.name, child.labels)
    }
    return text
  }

  #add<M extends Metric>(name: string, help: string, type: string, labelNames: readonly string[], create: () => M) {
    if (!/^[a-zA-Z_:][a-zA-Z0-9_:]*$/.test(name)) throw new Error(`${name} is not a metric name`)
    if (this.#families.has(name)) throw new Error(`metric ${name} is registered twice`)
    const metric = new Labelled(name, labelNames, create)
    this.#families.set(name, { name, help, type, metric })
    return metric
  }
}

interface Family {
  readonly name: string
  readonly help: string
  readonly type: string
  readonly metric: Labelled<Metric>
}

interface Metric {
  expose(name: string, labels: string): string
}

/** Prometheus' default latency buckets, in seconds. */
export const DEFAULT_BUCKETS: readonly number[] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

/** One metric name with a child for each combination of label values. */
export class Labelled<M extends Metric> {
  readonly #name: string
  readonly #labelNames: readonly string[]
  readonly #create: () => M
  readonly #children = new Map<string, { labels: string; metric: M }>()

  constructor(name: string, labelNames: readonly string[], create: () => M) {
    this.#name = name
    this.#labelNames = labelNames
    this.#create = create
    if (labelNames.length === 0) this.labels()
  }

  /** The child for these label values, in the order of the label names. The same values give the same child. */
  labels(...values: string[]): M {
    const key = values.length === 1 ? values[0]! : values.join('\u0000')
    const known = this.#children.get(key)
    if (known) return known.metric
    if (values.length !== this.#labelNames.length) {
      throw new Error(`metric ${this.#name} has labels ${this.#labelNames.join(', ')}; got ${values.length} values`)
    }
    const labels = this.#labelNames.map((name, i) => `${name}="${escapeLabel(values[i]!)}"`).join(',')
    const metric = this.#create()
    this.#children.set(key, { labels, metric })
    return metric
  }

  /** Forgets a child, so that a gone object leaves no series behind. */
  remove(...values: string[]): void {
    this.#children.delete(values.join('\u0000'))
  }

  children(): Iterable<{ labels: string; metric: M }> {
    return this.#children.values()
  }
}

export class Counter {
  #value = 0

  increment(by = 1): void {
    this.#value += by
  }

  get value(): number {
    return this.#value
  }

  expose(name: string, labels: string): string {
    return sample(name, labels, this.#value)
  }
}

export class Gauge {
  #value = 0
  #read: (() => number) | undefined

  set(value: number): void {
    this.#value = value
  }

  add(by: number): void {
    this.#value += by
  }

  /** From now on the value is asked for at each scrape, and costs nothing in between. */
  readFrom(read: () => number): void {
    this.#read = read
  }

  get value(): number {
    return this.#read ? this.#read() : this.#value
  }

  expose(name: string, labels: string): string {
    return sample(name, labels, this.value)
  }
}

export class Histogram {
  readonly #bounds: readonly number[]
  readonly #counts: Float64Array
  #sum = 0
  #count = 0

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds
    this.#counts = new Float64Array(bounds.length)
  }

  observe(value: number): void {
    this.#sum += value
    this.#count++
    const bounds = this.#bounds
    for (let i = 0; i < bounds.length; i++) {
      if (value <= bounds[i]!) {
        this.#counts[i]!++
        return
      }
    }
  }

  get count(): number {
    return this.#count
  }

  get sum(): number {
    return this.#sum
  }

  expose(name: string, labels: string): string {
    const prefix = labels === '' ? '' : `${labels},`
    let cumulative = 0
    let text = ''
    this.#bounds.forEach((bound, i) => {
      cumulative += this.#counts[i]!
      text += sample(`${name}_bucket`, `${prefix}le="${formatValue(bound)}"`, cumulative)
    })
    text += sample(`${name}_bucket`, `${prefix}le="+Inf"`, this.#count)
    return text + sample(`${name}_sum`, labels, this.#sum) + sample(`${name}_count`, labels, this.#count)
  }
}

const sample = (name: string, labels: string, value: number) =>
  `${name}${labels === '' ? '' : `{${labels}}`} ${formatValue(value)}\n`

function formatValue(value: number): string {
  if (value === Number.POSITIVE_INFINITY) return '+Inf'
  if (value === Number.NEGATIVE_INFINITY) return '-Inf'
  return String(value)
}

const escapeHelp = (text: string) => text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')
const escapeLabel = (text: string) => escapeHelp(text).replaceAll('"', '\\"')
