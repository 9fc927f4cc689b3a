import { describe, expect, test } from 'vitest'
import { type CronField, parseCronSchedule } from './schedule.ts'

const numbers = ({ bits, star }: CronField) => {
  if (star) return '*'
  return Array.from({ length: 60 }, (_, n) => n)
    .filter((n) => (bits >> BigInt(n)) & 1n)
    .join(',')
}

function shown(text: string): string {
  const schedule = parseCronSchedule(text)
  if (typeof schedule === 'string') return schedule
  if ('everySeconds' in schedule) return `every ${schedule.everySeconds}s`
  const { minute, hour, dayOfMonth, month, dayOfWeek } = schedule
  return [minute, hour, dayOfMonth, month, dayOfWeek].map(numbers).join(' ')
}

describe('schedules', () => {
  test.each<[text: string, meaning: string]>([
    ['* * * * *', '* * * * *'],
    ['*/15 0 1,15 * 1-5', '0,15,30,45 0 1,15 * 1,2,3,4,5'],
    ['5/20 * * * *', '5,25,45 * * * *'],
    ['0-10/5 8-9 * JAN,mar Sun-tue', '0,5,10 8,9 * 1,3 0,1,2'],
    ['0 0 ? * ?', '0 0 * * *'],
    ['  0   0 * * *  ', '0 0 * * *'],
    ['@hourly', '0 * * * *'],
    ['@daily', '0 0 * * *'],
    ['@weekly', '0 0 * * 0'],
    ['@monthly', '0 0 1 * *'],
    ['@yearly', '0 0 1 1 *'],
    ['@every 1h30m', 'every 5400s'],
    ['@every 1.5s', 'every 1s'],
    ['TZ=UTC 0 0 * * *', '0 0 * * *'],
    ['', 'empty spec string'],
    ['0 0 * *', 'expected exactly 5 fields, found 4: [0 0 * *]'],
    ['60 * * * *', 'end of range (60) above maximum (59): 60'],
    ['* 24 * * *', 'end of range (24) above maximum (23): 24'],
    ['* * 0 * *', 'beginning of range (0) below minimum (1): 0'],
    ['* * * * 7', 'end of range (7) above maximum (6): 7'],
    ['5-1 * * * *', 'beginning of range (5) beyond end of range (1): 5-1'],
    ['*/0 * * * *', 'step of range should be a positive number: */0'],
    ['1-2-3 * * * *', 'too many hyphens: 1-2-3'],
    ['1/2/3 * * * *', 'too many slashes: 1/2/3'],
    ['x * * * *', 'failed to parse int from x: strconv.Atoi: parsing "x": invalid syntax'],
    ['-1 * * * *', 'failed to parse int from : strconv.Atoi: parsing "": invalid syntax'],
    ['@never', 'unrecognized descriptor: @never'],
    ['@constructor', 'unrecognized descriptor: @constructor'],
    ['@every x', 'failed to parse duration @every x: time: invalid duration "x"'],
    [
      '@every 1999999999930m',
      'failed to parse duration @every 1999999999930m: time: invalid duration "1999999999930m"',
    ],
    ['@every 5', 'failed to parse duration @every 5: time: missing unit in duration "5"'],
  ])('%s', (text, meaning) => {
    expect(shown(text)).toBe(meaning)
  })
})
