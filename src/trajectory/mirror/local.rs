//! Whether a file system is this machine's own. SQLite's write-ahead log needs
//! memory that all processes share, which a network does not give.

use std::path::Path;

/// Magic numbers of file systems that live elsewhere, or may: NFS, SMB, CIFS,
/// SMB2, FUSE, GPFS, Lustre, 9p, AFS, Ceph, OCFS2, GFS2, NCP, Coda (statfs(2)).
const ELSEWHERE: &[u64] = &[
    0x6969,
    0x517B,
    0xFF53_4D42,
    0xFE53_4D42,
    0x6573_5546,
    0x4750_4653,
    0x0BD0_0BD0,
    0x0102_1997,
    0x5346_414F,
    0x00C3_6400,
    0x7461_636F,
    0x0116_1970,
    0x564C,
    0x7375_7245,
];

/// Whether the file system of this `kind` is local.
pub(super) fn is_local(kind: u64) -> bool {
    !ELSEWHERE.contains(&kind)
}

/// The kind of the file system that holds `folder`; 0 where the system has no numbers for it.
pub(super) fn kind(folder: &Path) -> u64 {
    #[cfg(target_os = "linux")]
    if let Ok(found) = rustix::fs::statfs(folder) {
        // The field is signed on some machines and wider on others.
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a magic number of 32 bits"
        )]
        return u64::from(found.f_type as u32);
    }
    let _ = folder;
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_is_not_local() {
        assert!(!is_local(0x6969));
        assert!(!is_local(0xFF53_4D42));
        assert!(is_local(0xEF53), "ext4");
        assert!(is_local(0x9123_683E), "btrfs");
        assert!(is_local(0), "unknown");
    }
}
