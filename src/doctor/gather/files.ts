import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { FileFact, FileRole } from '../facts.ts'

/** The files of a cluster that are worth protecting, with their permissions. */
export async function clusterFiles(dataDir: string, kubeconfigs: readonly string[]): Promise<FileFact[]> {
  const at = (...parts: string[]) => join(dataDir, ...parts)
  const components = (await namesIn(dataDir)).filter(
    (name) => name.endsWith('.kubeconfig') && name !== 'admin.kubeconfig',
  )
  const lists = [
    one('settings', at('configuration.json')),
    one('store', at('store')),
    ...['admin.kubeconfig'].map((name) => one('admin kubeconfig', at(name))),
    ...kubeconfigs.map((path) => one('admin kubeconfig', path)),
    ...components.map((name) => one('component kubeconfig', at(name))),
    one('pki', at('pki')),
    keysIn(at('pki')),
    ...(await namesIn(at('nodes'))).map((name) => nodeFiles(at('nodes', name))),
  ]
  return (await Promise.all(lists)).flat()
}

async function nodeFiles(folder: string): Promise<FileFact[]> {
  const at = (...parts: string[]) => join(folder, ...parts)
  const network = (await namesIn(at('network'))).filter((name) => name !== 'sandboxes')
  const lists = [
    one('node record', at('node.json')),
    one('node settings', at('settings.json')),
    one('kubelet kubeconfig', at('pki', 'kubelet.kubeconfig')),
    one('kube-proxy kubeconfig', at('pki', 'kube-proxy.kubeconfig')),
    one('node authority', at('pki', 'ca.pem')),
    one('private key', at('pki', 'kubelet-server.pem')),
    ...network.map((name) => one('pod network', at('network', name))),
  ]
  return (await Promise.all(lists)).flat()
}

/** Some files hold a certificate and its key: those count as keys. */
async function keysIn(folder: string): Promise<FileFact[]> {
  const found = (await namesIn(folder)).map(async (name) => {
    const path = join(folder, name)
    const text = await readFile(path, 'utf8').catch(() => '')
    return one(text.includes('PRIVATE KEY-----') ? 'private key' : 'certificate', path)
  })
  return (await Promise.all(found)).flat()
}

const PERMISSIONS = 0o777

/** Empty if it is not there. */
async function one(role: FileRole, path: string): Promise<FileFact[]> {
  const found = await stat(path).catch(() => undefined)
  return found ? [{ role, path, mode: found.mode & PERMISSIONS, uid: found.uid }] : []
}

const namesIn = (folder: string): Promise<string[]> => readdir(folder).catch(() => [])
