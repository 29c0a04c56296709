//! Looks at what was restored with fresh eyes, byte by byte.

use gix::bstr::{BStr, BString, ByteSlice};
use gix::objs::Kind;

use crate::error::Result;
use crate::snapshot::restore::apply::{Applied, Applier, is_executable};
use crate::snapshot::restore::plan::Step;
use crate::snapshot::restore::stage::Staging;
use crate::snapshot::stat::FileKind;

impl Applier<'_> {
    /// Paths whose bytes on disk are not what was put there, or that are there
    /// although they were deleted.
    ///
    /// # Errors
    /// When a path cannot be looked at.
    pub fn verify(
        &self,
        steps: &[Step],
        staged: &[Staging],
        applied: &Applied,
    ) -> Result<Vec<BString>> {
        let mut wrong = Vec::new();
        for (step, staged) in steps.iter().zip(staged) {
            let path = step.path.as_bstr();
            let is_right = if applied.written.binary_search(&step.path).is_ok() {
                match staged {
                    Some(Ok(staged)) => self.content(path)? == Some(staged.content),
                    None if step.now == step.then => true,
                    _ => self.root.stat(path)?.is_some_and(|stat| {
                        stat.kind
                            == FileKind::File {
                                executable: is_executable(&step.then),
                            }
                    }),
                }
            } else if applied.deleted.binary_search(&step.path).is_ok() {
                // A folder in its place is what the checkpoint has there.
                self.root
                    .stat(path)?
                    .is_none_or(|stat| stat.kind == FileKind::Folder)
            } else {
                true
            };
            if !is_right {
                wrong.push(step.path.clone());
            }
        }
        Ok(wrong)
    }

    /// The hash of the bytes at `path`, of a link those of its target.
    fn content(&self, path: &BStr) -> Result<Option<gix::ObjectId>> {
        let bytes = match self.root.stat(path)? {
            Some(stat) if stat.kind == FileKind::Link => self.root.read_link(path)?.into(),
            Some(stat) => self.root.read_file(path, stat.size)?,
            None => return Ok(None),
        };
        let hash = self.repo.gix().object_hash();
        Ok(Some(gix::objs::compute_hash(hash, Kind::Blob, &bytes)?))
    }
}
