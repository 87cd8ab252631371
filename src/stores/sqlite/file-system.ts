/** Which file systems Linux tells apart by number, and whether SQLite's locks hold on them. */

export interface FileSystemKind {
  readonly name: string
  /** `perhaps`: a local file system and a network one look the same from here. */
  readonly shared: 'network' | 'perhaps'
}

/** Some numbers come with their sign bit extended. */
const TYPE_BITS = 32

const KINDS: ReadonlyMap<bigint, FileSystemKind> = new Map(
  (
    [
      [0x6969n, 'NFS'],
      [0x517bn, 'SMB'],
      [0xff534d42n, 'CIFS'],
      [0xfe534d42n, 'SMB 2'],
      [0x564cn, 'NCP'],
      [0x5346414fn, 'AFS'],
      [0x6b414653n, 'AFS'],
      [0x73757245n, 'Coda'],
      [0x00c36400n, 'Ceph'],
      [0x01021997n, '9p'],
      [0x0bd00bd0n, 'Lustre'],
      [0x47504653n, 'GPFS'],
      [0x7461636fn, 'OCFS2'],
      [0x01161970n, 'GFS2'],
      [0x786f4256n, 'vboxsf'],
    ] as const
  ).map(([type, name]) => [type, { name, shared: 'network' }]),
)

/** virtiofs shows itself as FUSE, and so does every network file system that is made with it. */
const FUSE_TYPE = 0x65735546n
const FUSE: FileSystemKind = { name: 'FUSE or virtiofs', shared: 'perhaps' }

/** What to know about a file system of this `statfs` type; null for a local one, and where it is unknown. */
export function kindOfFileSystem(type: bigint | null): FileSystemKind | null {
  if (type === null) return null
  const bits = BigInt.asUintN(TYPE_BITS, type)
  return bits === FUSE_TYPE ? FUSE : (KINDS.get(bits) ?? null)
}
