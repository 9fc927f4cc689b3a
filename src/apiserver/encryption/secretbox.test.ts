import { expect, it } from 'vitest'
import { openBox, sealBox, secretbox } from './secretbox.ts'

const hex = (text: string) => Buffer.from(text.replaceAll(/\s/g, ''), 'hex')

// "Cryptography in NaCl", section 10.
const KEY = hex('1b27556473e985d462cd51197a9a46c76009549eac6474f206c4ee0844f68389')
const NONCE = hex('69696ee955b62b73cd62bda875fc73d68219e0036b7a0b37')
const PLAIN =
  hex(`be075fc53c81f2d5cf141316ebeb0c7b5228c52a4c62cbd44b66849b64244ffce5ecbaaf33bd751a1ac728d45e6c61296cdc3c
  01233561f41db66cce314adb310e3be8250c46f06dceea3a7fa1348057e2f6556ad6b1318a024a838f21af1fde048977eb48f59ffd4924ca1c
  60902e52f0a089bc76897040e082f937763848645e0705`)
const BOX = hex(`f3ffc7703f9400e52a7dfb4b3d3305d98e993b9f48681273c29650ba32fc76ce48332ea7164d96a4476fb8c531a1186ac0dfc1
  7c98dce87b4da7f011ec48c97271d2c20f9b928fe2270d6fb863d51738b48eeee314a7cc8ab932164548e526ae90224368517acfeabd6bb373
  2bc0e9da99832b61ca01b6de56244a9e88d5f9b37973f622a43d14a6599b1f654cb45a74e355a5`)

it('is the secretbox of NaCl', () => {
  expect(sealBox(KEY, NONCE, PLAIN)).toEqual(BOX)
  expect(openBox(KEY, NONCE, BOX)).toEqual(PLAIN)
})

it.each([0, 1, 15, 16, 31, 32, 33, 63, 64, 65, 5000])(
  'opens what it made of %d bytes, unless a bit of it changed',
  (size) => {
    const { encrypt, decrypt } = secretbox('key', KEY)
    const plain = Buffer.alloc(size, 'text')
    const sealed = encrypt(plain, '') as Buffer
    expect(sealed.length).toBe(24 + 16 + size)
    expect(decrypt(sealed, '')).toEqual(plain)
    for (const at of [0, 24, sealed.length - 1]) {
      const changed = Buffer.from(sealed)
      changed[at]! ^= 1
      expect(() => decrypt(changed, '')).toThrow('it was changed')
    }
    expect(() => decrypt(sealed.subarray(0, 30), '')).toThrow('too short')
  },
)
