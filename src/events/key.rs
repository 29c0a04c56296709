//! A random number of each repository, by which what may be secret is hashed before it
//! is remembered: without the file nobody can try guesses against such a hash.

use std::io::Write;

use crate::error::{Context, Result};
use crate::events::id;
use crate::git::Repo;
use crate::state::file::make_folder;

/// How many random bytes there are.
const LENGTH: usize = 32;

/// The key of a repository.
#[derive(Clone)]
pub struct Key(String);

impl Key {
    /// The key of `repo`, made when there is none.
    ///
    /// # Errors
    /// When it can neither be read nor made.
    pub fn of(repo: &Repo) -> Result<Self> {
        let folder = repo.shared_state();
        let path = folder.join("key");
        for _ in 0..2 {
            match std::fs::read_to_string(&path) {
                Ok(text) if text.len() == 2 * LENGTH => return Ok(Key(text)),
                Ok(_) => std::fs::remove_file(&path)
                    .with_context(|| format!("cannot replace '{}'", path.display()))?,
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => {
                    return Err(error).with_context(|| format!("cannot read '{}'", path.display()));
                }
            }
            make_folder(&folder, repo.sharing())?;
            let mut random = [0; LENGTH];
            std::fs::File::open("/dev/urandom")
                .and_then(|mut file| std::io::Read::read_exact(&mut file, &mut random))
                .context("cannot read random numbers")?;
            let text: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
            let bits = std::os::unix::fs::PermissionsExt::from_mode(repo.sharing().file_bits());
            let made = tempfile::Builder::new()
                .permissions(bits)
                .tempfile_in(&folder)
                .and_then(|mut file| file.write_all(text.as_bytes()).map(|()| file))
                .with_context(|| format!("cannot write '{}'", path.display()))?;
            // Another process may have been quicker: then its key counts.
            if made.persist_noclobber(&path).is_ok() {
                return Ok(Key(text));
            }
        }
        let text = std::fs::read_to_string(&path)
            .with_context(|| format!("cannot read '{}'", path.display()))?;
        Ok(Key(text))
    }

    /// 16 hexadecimal digits that stand for `parts` in this repository.
    pub fn hash(&self, parts: &[&str]) -> String {
        let mut all = vec![self.0.as_str()];
        all.extend(parts);
        id::hash(&all)[..16].to_owned()
    }
}
