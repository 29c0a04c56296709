//! A commit object as bytes: a block of headers and a message. Nothing here
//! is decoded that need not be: an id is a hash of every byte.

use gix::ObjectId;

use crate::git::{BStr, ByteSlice};

/// The bytes of a commit, cut where the message begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawCommit {
    /// The header lines, with the newline of the last one.
    pub headers: Vec<u8>,
    /// What follows the blank line; `None` when there is no blank line.
    pub message: Option<Vec<u8>>,
}

impl RawCommit {
    /// Cuts the content of a commit object.
    pub fn cut(content: &[u8]) -> Self {
        match content.find(b"\n\n") {
            Some(at) => RawCommit {
                headers: content[..=at].to_vec(),
                message: Some(content[at + 2..].to_vec()),
            },
            None => RawCommit {
                headers: content.to_vec(),
                message: None,
            },
        }
    }

    /// A commit of these parts and nothing else.
    pub fn plain(
        tree: ObjectId,
        parents: &[ObjectId],
        author: &[u8],
        committer: &[u8],
        message: &[u8],
    ) -> Self {
        let mut headers = Vec::with_capacity(256);
        line(&mut headers, "tree", tree.to_string().as_bytes());
        for parent in parents {
            line(&mut headers, "parent", parent.to_string().as_bytes());
        }
        line(&mut headers, "author", author);
        line(&mut headers, "committer", committer);
        RawCommit {
            headers,
            message: Some(message.to_vec()),
        }
    }

    /// The content of the commit object.
    pub fn content(&self) -> Vec<u8> {
        let message = self.message.as_deref();
        let mut bytes = Vec::with_capacity(self.headers.len() + 1 + message.map_or(0, <[u8]>::len));
        bytes.extend_from_slice(&self.headers);
        if let Some(message) = message {
            bytes.push(b'\n');
            bytes.extend_from_slice(message);
        }
        bytes
    }

    /// The headers in order: name, and value with its continuation lines.
    pub fn fields(&self) -> impl Iterator<Item = (&BStr, &BStr)> {
        let mut rest = self.headers.as_slice();
        std::iter::from_fn(move || {
            if rest.is_empty() {
                return None;
            }
            let mut end = 0;
            loop {
                end = rest[end..]
                    .find_byte(b'\n')
                    .map_or(rest.len(), |at| end + at + 1);
                if rest.get(end) != Some(&b' ') {
                    break;
                }
            }
            let (field, after) = rest.split_at(end);
            rest = after;
            let field = field.strip_suffix(b"\n").unwrap_or(field);
            Some(match field.split_once_str(" ") {
                Some((name, value)) => (name.as_bstr(), value.as_bstr()),
                None => (field.as_bstr(), b"".as_bstr()),
            })
        })
    }

    /// The value of the first header called `name`.
    pub fn field(&self, name: &str) -> Option<&BStr> {
        self.fields()
            .find(|(n, _)| *n == name)
            .map(|(_, value)| value)
    }

    /// The id of the tree, which git reads in the first header and nowhere else.
    pub fn tree(&self) -> Option<ObjectId> {
        let (name, value) = self.fields().next()?;
        (name == "tree").then(|| ObjectId::from_hex(value).ok())?
    }

    /// The ids of the parents, which git reads right behind the tree and nowhere
    /// else; what is no id is left out.
    pub fn parents(&self) -> Vec<ObjectId> {
        self.fields()
            .skip(1)
            .take_while(|(name, _)| *name == "parent")
            .filter_map(|(_, value)| ObjectId::from_hex(value).ok())
            .collect()
    }

    /// Why git could not parse it, or would read other parts in it than these
    /// (`parse_commit_buffer` in git's commit.c); `None` when both see the same.
    pub fn defect(&self) -> Option<&'static str> {
        if Self::cut(&self.content()) != *self {
            return Some("the headers do not end where the message begins");
        }
        let mut fields = self.fields();
        let is_id = |value: &BStr| value.to_str().ok().and_then(object_id).is_some();
        match fields.next() {
            Some((name, value)) if name == "tree" && is_id(value) => {}
            _ => return Some("they do not begin with a tree"),
        }
        let mut parents = fields.by_ref().take_while(|(name, _)| *name == "parent");
        if !parents.all(|(_, value)| is_id(value)) {
            return Some("a parent is no object id");
        }
        let is_folded = |(name, value): (&BStr, &BStr)| {
            matches!(name.as_bytes(), b"author" | b"committer") && value.contains(&b'\n')
        };
        self.fields()
            .any(is_folded)
            .then_some("an author or a committer goes on in a second line")
    }

    /// This commit with another tree and other parents. What signed the old one
    /// (`gpgsig`) is left out, and so is each `mergetag` of a parent that is gone.
    #[must_use]
    pub fn moved(&self, tree: ObjectId, parents: &[ObjectId]) -> Self {
        let mut headers = Vec::with_capacity(self.headers.len());
        line(&mut headers, "tree", tree.to_string().as_bytes());
        for parent in parents {
            line(&mut headers, "parent", parent.to_string().as_bytes());
        }
        let mut fields = self.fields().skip(1).peekable();
        while fields.next_if(|(name, _)| *name == "parent").is_some() {}
        for (name, value) in fields {
            let is_kept = match name.as_bytes() {
                name if is_signature(name) => false,
                b"mergetag" => parents
                    .iter()
                    .any(|parent| value.starts_with(format!("object {parent}\n").as_bytes())),
                _ => true,
            };
            if is_kept {
                line(&mut headers, &name.to_str_lossy(), value);
            }
        }
        RawCommit {
            headers,
            message: self.message.clone(),
        }
    }

    /// Whether the commit carries a signature.
    pub fn is_signed(&self) -> bool {
        self.fields().any(|(name, _)| is_signature(name))
    }
}

/// Whether `name` is a header whose value signs the rest (gitformat-signature(5)).
pub fn is_signature(name: &[u8]) -> bool {
    matches!(name, b"gpgsig" | b"gpgsig-sha256")
}

fn line(headers: &mut Vec<u8>, name: &str, value: &[u8]) {
    headers.extend_from_slice(name.as_bytes());
    headers.push(b' ');
    headers.extend_from_slice(value);
    headers.push(b'\n');
}

/// `name <email> date` cut at the brackets, whatever stands there: a part that
/// is missing is empty.
pub fn cut_identity(value: &[u8]) -> (&[u8], &[u8], &[u8]) {
    let Some(open) = value.find_byte(b'<') else {
        return (value, b"", b"");
    };
    let name = &value[..open];
    let name = name.strip_suffix(b" ").unwrap_or(name);
    let rest = &value[open + 1..];
    let Some(close) = rest.rfind_byte(b'>') else {
        return (name, rest, b"");
    };
    let date = &rest[close + 1..];
    (
        name,
        &rest[..close],
        date.strip_prefix(b" ").unwrap_or(date),
    )
}

/// The id that `text` spells, when it does so as git prints it.
pub fn object_id(text: &str) -> Option<ObjectId> {
    let is_hex = text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    (is_hex && matches!(text.len(), 40 | 64))
        .then(|| ObjectId::from_hex(text.as_bytes()).ok())
        .flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TREE: &str = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";

    #[test]
    fn cutting_and_joining_gives_the_same_bytes() {
        for content in [
            &b"tree x\nauthor a\n\nsubject\n\nbody"[..],
            b"tree x\n\n",
            b"tree x\n",
            b"tree x",
            b"\n\nx",
            b"",
        ] {
            assert_eq!(RawCommit::cut(content).content(), content);
        }
    }

    #[test]
    fn headers_keep_their_continuation_lines() {
        let raw = RawCommit::cut(b"tree x\ngpgsig one\n two\n \nauthor a <b> 1 +0000\n\nm");
        let fields: Vec<_> = raw.fields().collect();
        assert_eq!(fields[1], ("gpgsig".into(), "one\n two\n ".into()));
        assert_eq!(raw.field("author"), Some("a <b> 1 +0000".into()));
        assert!(raw.is_signed());
    }

    #[test]
    fn tree_and_parents_stand_where_git_reads_them() {
        let check = |headers: &str, parents: usize, is_sound: bool| {
            let raw = RawCommit {
                headers: headers.replace("ID", TREE).into_bytes(),
                message: Some(b"m".to_vec()),
            };
            assert_eq!(raw.parents().len(), parents, "{headers}");
            assert_eq!(
                raw.defect().is_none(),
                is_sound,
                "{headers}: {:?}",
                raw.defect()
            );
        };
        check("tree ID\nparent ID\nparent ID\nauthor a\n", 2, true);
        check("tree ID\nauthor a\nparent ID\n", 0, true);
        check("tree ID\nauthor a\ngpgsig x\n parent ID\n", 0, true);
        check("tree ID\nparent x\n", 0, false);
        check("parent ID\ntree ID\n", 0, false);
        check("tree ID\nauthor a\n\nm", 0, false);
        check("tree ID\nauthor a", 0, false);
        check("tree ID\nauthor a\n b\n", 0, false);
        check("", 0, false);
    }

    #[test]
    fn a_moved_commit_loses_what_is_no_longer_true() {
        let tree = ObjectId::from_hex(TREE.as_bytes()).expect("an id");
        let raw = RawCommit::cut(
            b"tree x\nparent y\nauthor a\nmergetag object 1\n type commit\ngpgsig s\n t\nchange-id z\n\nm",
        );
        let moved = raw.moved(tree, &[tree]);
        assert_eq!(
            String::from_utf8(moved.content()).expect("text"),
            format!("tree {TREE}\nparent {TREE}\nauthor a\nchange-id z\n\nm")
        );
    }

    #[test]
    fn identities_are_cut_whatever_they_are() {
        let check = |value: &str, name: &str, email: &str, date: &str| {
            assert_eq!(
                cut_identity(value.as_bytes()),
                (name.as_bytes(), email.as_bytes(), date.as_bytes())
            );
        };
        check("A B <a@b> 1 +0100", "A B", "a@b", "1 +0100");
        check(" <a@b> 1 +051800", "", "a@b", "1 +051800");
        check("<> 1", "", "", "1");
        check("A <a>b> 1", "A", "a>b", "1");
        check("none", "none", "", "");
    }
}
