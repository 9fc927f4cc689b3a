/** Attributes that hold a link, in whichever tag. */
const LINKS = new Set(
  'href src action formaction cite background codebase classid data icon longdesc manifest poster profile usemap'.split(
    ' ',
  ),
)
/** Elements whose content is text, also where it looks like tags. */
const RAW_TEXT = new Set(['script', 'style', 'textarea', 'title', 'xmp', 'iframe', 'noembed', 'noframes'])
/** Longer names are none of those above. */
const MAX_NAME_LENGTH = 16
/** Longer values are no links that a proxy could change: data of images, for example. */
const MAX_LINK_LENGTH = 8 * 1024

const isSpace = (char: string) => char === ' ' || char === '\n' || char === '\t' || char === '\r' || char === '\f'
const isLetter = (char: string) => (char >= 'a' && char <= 'z') || (char >= 'A' && char <= 'Z')

type State = (char: string, at: number, text: string) => number

/**
 * Rewrites the links of a page that comes in pieces. Each character is looked at once, and never more than one link is
 * held back, so the time is linear and the memory small whatever the page is. Follows the tokenizer of the HTML standard
 * as far as needed to find attributes: comments, and elements whose content is text.
 */
export class HtmlRewriter {
  readonly #rewrite: (link: string) => string
  #state: State
  /** Up to here the current piece is in the output. */
  #copied = 0
  #output = ''
  #tag = ''
  #name = ''
  #quote = ''
  /** The beginning of a link from earlier pieces. */
  #held = ''
  #linkStart = -1
  /** How many dashes came last inside of a comment. */
  #dashes = 0
  #endTag = ''
  /** How much of the end tag of a raw text was seen. */
  #matched = 0

  constructor(rewrite: (link: string) => string) {
    this.#rewrite = rewrite
    this.#state = this.#text
  }

  /** Takes the next piece of the page, and returns what is ready. */
  write(text: string): string {
    this.#output = ''
    this.#copied = 0
    if (this.#linkStart >= 0) this.#linkStart = 0
    for (let at = 0; at < text.length; ) at = this.#state(text[at]!, at, text)
    this.#holdBack(text)
    return this.#output + text.slice(this.#copied)
  }

  /** What is left when the page has ended. */
  end(): string {
    const held = this.#held
    this.#held = ''
    return held
  }

  /** A link that has begun is not passed on before its end is known, unless it is too long to be one. */
  #holdBack(text: string): void {
    if (this.#linkStart < 0) return
    this.#output += text.slice(this.#copied, this.#linkStart)
    this.#held += text.slice(this.#linkStart)
    this.#copied = text.length
    if (this.#held.length <= MAX_LINK_LENGTH) return
    this.#output += this.#held
    this.#held = ''
    this.#linkStart = -1
  }

  #text: State = (_, at, text) => {
    const open = text.indexOf('<', at)
    if (open < 0) return text.length
    this.#state = this.#tagOpen
    return open + 1
  }

  #tagOpen: State = (char, at) => {
    this.#tag = ''
    if (isLetter(char)) {
      this.#state = this.#tagName
      return at
    }
    this.#name = ''
    this.#state = char === '!' ? this.#declaration : char === '<' ? this.#tagOpen : this.#text
    return at + 1
  }

  /** `<!` begins a comment if two dashes follow. */
  #declaration: State = (char, at) => {
    this.#name += char
    if (this.#name === '-') return at + 1
    this.#dashes = 2
    this.#state = this.#name === '--' ? this.#comment : this.#text
    return this.#name === '--' ? at + 1 : at
  }

  #comment: State = (char, at) => {
    if (char === '>' && this.#dashes >= 2) this.#state = this.#text
    this.#dashes = char === '-' ? this.#dashes + 1 : 0
    return at + 1
  }

  #tagName: State = (char, at) => {
    if (isSpace(char) || char === '/' || char === '>') {
      this.#state = this.#beforeName
      return at
    }
    if (this.#tag.length <= MAX_NAME_LENGTH) this.#tag += char
    return at + 1
  }

  #beforeName: State = (char, at) => {
    if (char === '>') return this.#tagEnd(at)
    if (isSpace(char) || char === '/') return at + 1
    this.#name = char
    this.#state = this.#attributeName
    return at + 1
  }

  #attributeName: State = (char, at) => {
    if (char === '=') this.#state = this.#beforeValue
    else if (isSpace(char)) this.#state = this.#afterName
    else if (char === '/' || char === '>') {
      this.#state = this.#beforeName
      return at
    } else if (this.#name.length <= MAX_NAME_LENGTH) this.#name += char
    return at + 1
  }

  #afterName: State = (char, at) => {
    if (isSpace(char)) return at + 1
    this.#state = char === '=' ? this.#beforeValue : this.#beforeName
    return char === '=' ? at + 1 : at
  }

  #beforeValue: State = (char, at) => {
    if (isSpace(char)) return at + 1
    if (char === '>') return this.#tagEnd(at)
    this.#quote = char === '"' || char === "'" ? char : ''
    const start = this.#quote === '' ? at : at + 1
    if (LINKS.has(this.#name.toLowerCase())) this.#linkStart = start
    this.#state = this.#value
    return start
  }

  #value: State = (char, at, text) => {
    if (this.#quote !== '') {
      const end = text.indexOf(this.#quote, at)
      if (end < 0) return text.length
      return this.#valueEnd(end, text) + 1
    }
    return isSpace(char) || char === '>' ? this.#valueEnd(at, text) : at + 1
  }

  #valueEnd(at: number, text: string): number {
    this.#state = this.#beforeName
    if (this.#linkStart < 0) return at
    const link = this.#held + text.slice(this.#linkStart, at)
    this.#output += text.slice(this.#copied, this.#linkStart)
    this.#output += link.length > MAX_LINK_LENGTH ? link : this.#rewrite(link)
    this.#copied = at
    this.#held = ''
    this.#linkStart = -1
    return at
  }

  #tagEnd(at: number): number {
    this.#tag = this.#tag.toLowerCase()
    this.#matched = 0
    this.#endTag = `</${this.#tag}`
    this.#state = RAW_TEXT.has(this.#tag) ? this.#rawText : this.#text
    return at + 1
  }

  /** Ends with `</name`, in any case, and something that cannot belong to a longer name. */
  #rawText: State = (char, at, text) => {
    if (this.#matched === 0) {
      const open = text.indexOf('<', at)
      if (open < 0) return text.length
      this.#matched = 1
      return open + 1
    }
    if (this.#matched === this.#endTag.length) {
      if (isSpace(char) || char === '/' || char === '>') this.#state = this.#text
      this.#matched = 0
      return at
    }
    this.#matched = char.toLowerCase() === this.#endTag[this.#matched] ? this.#matched + 1 : 0
    return this.#matched === 0 ? at : at + 1
  }
}
