//! Our extension of a commit entry, `x`, which other readers ignore: the raw
//! headers and the message, so that signatures, unknown headers, encodings and
//! zones rebuild exactly. It must agree with the readable fields beside it: a
//! reviewer must not read one author while another is replayed.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use gix::ObjectId;
use gix::objs::Kind;
use serde_json::{Map, Value, json};

use crate::error::{Context, Result, bail, ensure};
use crate::replay::journal::fields::Fields;
use crate::replay::journal::workspace::{Commit, Identity};
use crate::replay::object::{RawCommit, cut_identity, object_id};

/// The version of `x` that is written, and the only one that is read.
const VERSION: u64 = 1;

/// The bytes of a recorded commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Extension {
    /// The recorded object.
    pub raw: RawCommit,
    /// Its parents, as the readable list says.
    pub parents: Vec<ObjectId>,
}

impl Extension {
    /// The value of `x` for the commit `raw`.
    pub fn value(raw: &RawCommit) -> Value {
        let mut x = Map::new();
        x.insert("v".into(), VERSION.into());
        let parents: Vec<String> = raw.parents().iter().map(ObjectId::to_string).collect();
        x.insert("parents".into(), json!(parents));
        match std::str::from_utf8(&raw.headers) {
            Ok(text) => x.insert("headers".into(), text.into()),
            Err(_) => x.insert("headersBase64".into(), STANDARD.encode(&raw.headers).into()),
        };
        if let Some(message) = &raw.message {
            x.insert("messageBase64".into(), STANDARD.encode(message).into());
        }
        Value::Object(x)
    }

    /// Reads `fields`; `None` when they are of a version that is not known.
    ///
    /// # Errors
    /// When they are incomplete.
    pub(super) fn read(mut fields: Fields) -> Result<Option<Self>> {
        if fields.require_count("v")? != VERSION {
            return Ok(None);
        }
        let headers = match fields.text("headers")? {
            Some(text) => text.into_bytes(),
            None => base64(&mut fields, "headersBase64")?
                .with_context(|| format!("{}: 'headers' is missing", fields.place()))?,
        };
        let message = base64(&mut fields, "messageBase64")?;
        let mut parents = Vec::new();
        for parent in fields.require_array("parents")? {
            let id = parent.as_str().and_then(object_id);
            parents.push(
                id.with_context(|| format!("{}: 'parents' must hold object ids", fields.place()))?,
            );
        }
        let raw = RawCommit { headers, message };
        Ok(Some(Extension { raw, parents }))
    }

    /// Requires that the readable fields of `commit` say the same as the bytes.
    ///
    /// # Errors
    /// Names the first field that does not.
    pub(super) fn agree(&self, commit: &Commit) -> Result<()> {
        if let Some(defect) = self.raw.defect() {
            bail!("'x' is no commit: {defect}");
        }
        let content = self.raw.content();
        let id = gix::objs::compute_hash(commit.oid.kind(), Kind::Commit, &content)?;
        // One that stands twice must say the same twice: readers take different ones.
        let is_identity = |name: &str, readable: &Identity| {
            let mut found = self.raw.fields().filter(|(n, _)| *n == name).peekable();
            match found.peek() {
                None => *readable == Identity::default(),
                Some(_) => found.all(|(_, value)| Identity::shown(value) == *readable),
            }
        };
        let message = String::from_utf8_lossy(self.raw.message.as_deref().unwrap_or_default());
        let facts = [
            ("tree", self.raw.tree() == Some(commit.tree)),
            ("parents", self.raw.parents() == self.parents),
            ("author", is_identity("author", &commit.author)),
            ("committer", is_identity("committer", &commit.committer)),
            ("message", message == commit.message),
            ("oid", id == commit.oid),
        ];
        for (field, agrees) in facts {
            ensure!(agrees, "'x' and '{field}' do not say the same");
        }
        Ok(())
    }
}

impl Identity {
    /// The readable form of an identity header; bytes that are not UTF-8 become U+FFFD.
    pub fn shown(value: &[u8]) -> Self {
        let (name, email, date) = cut_identity(value);
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        Identity {
            name: text(name),
            email: text(email),
            date: text(date),
        }
    }
}

fn base64(fields: &mut Fields, key: &str) -> Result<Option<Vec<u8>>> {
    match fields.text(key)? {
        None => Ok(None),
        Some(text) => STANDARD
            .decode(text)
            .map(Some)
            .map_err(|_| fields.error(format_args!("'{key}' is no base64"))),
    }
}
