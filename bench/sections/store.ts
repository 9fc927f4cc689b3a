import type { Section } from '../report.ts'
import { benchStore } from '../store.ts'

export const storeSection: Section = {
  name: 'store',
  title: 'Store',
  async run() {
    await benchStore()
    return []
  },
}
