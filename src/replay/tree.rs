//! A tree that is edited path by path and written again. Folders are read
//! when they are entered, so that a commit costs what it touches.

use std::collections::BTreeMap;

use gix::ObjectId;

use crate::error::{Context, Result};
use crate::git::{ByteSlice, Kind};

const DIRECTORY: u32 = 0o040_000;

/// Where objects are read from and written to.
pub(super) trait Objects {
    /// The content of the `kind` called `id`.
    fn content(&self, id: ObjectId, kind: Kind) -> Result<Vec<u8>>;
    /// Keeps `content` as a `kind`; its id.
    fn keep(&mut self, kind: Kind, content: Vec<u8>) -> Result<ObjectId>;
}

/// A file, link or submodule in a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Leaf {
    pub(super) mode: u32,
    pub(super) id: ObjectId,
}

/// What stands in the way of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Blocked {
    /// One of its folders is a symbolic link.
    ByLink(Vec<u8>),
    /// One of its folders is a file, or it is itself a folder, or is there already.
    ByOther,
}

/// The root of an editable tree.
#[derive(Debug)]
pub(super) struct Tree {
    root: Folder,
}

#[derive(Debug)]
struct Folder {
    /// Its id, unless it was changed since.
    id: Option<ObjectId>,
    /// By name, that of a folder with a slash at its end: git's own order.
    /// `None` until it is entered.
    nodes: Option<BTreeMap<Vec<u8>, Node>>,
}

#[derive(Debug)]
enum Node {
    Leaf(Leaf),
    Folder(Folder),
}

impl Tree {
    /// The tree called `id`, nothing of it read yet.
    pub(super) fn at(id: ObjectId) -> Self {
        Tree {
            root: Folder::at(id),
        }
    }

    /// What stands at `path`.
    pub(super) fn leaf(&mut self, path: &[u8], objects: &impl Objects) -> Result<Option<Leaf>> {
        self.root.leaf(path, objects)
    }

    /// Takes what stands at `path` away, and the folders that are empty then;
    /// false when nothing stood there.
    pub(super) fn remove(&mut self, path: &[u8], objects: &impl Objects) -> Result<bool> {
        self.root.remove(path, objects)
    }

    /// Puts `leaf` at `path`, where nothing may stand but a file.
    pub(super) fn put(
        &mut self,
        path: &[u8],
        leaf: Leaf,
        objects: &impl Objects,
    ) -> Result<std::result::Result<(), Blocked>> {
        self.root.put(path, leaf, objects)
    }

    /// Writes what changed; the id of the whole.
    pub(super) fn write(&mut self, objects: &mut impl Objects) -> Result<ObjectId> {
        self.root.write(objects)
    }
}

impl Folder {
    fn at(id: ObjectId) -> Self {
        Folder {
            id: Some(id),
            nodes: None,
        }
    }

    fn empty() -> Self {
        Folder {
            id: None,
            nodes: Some(BTreeMap::new()),
        }
    }

    fn nodes(&mut self, objects: &impl Objects) -> Result<&mut BTreeMap<Vec<u8>, Node>> {
        let nodes = match (self.nodes.take(), self.id) {
            (Some(nodes), _) => nodes,
            (None, Some(id)) => read(id, &objects.content(id, Kind::Tree)?)
                .with_context(|| format!("the tree {id} is malformed"))?,
            (None, None) => BTreeMap::new(),
        };
        Ok(self.nodes.insert(nodes))
    }

    fn leaf(&mut self, path: &[u8], objects: &impl Objects) -> Result<Option<Leaf>> {
        let (name, below) = split(path);
        Ok(match (self.nodes(objects)?.get_mut(name), below) {
            (Some(Node::Folder(folder)), Some(below)) => folder.leaf(below, objects)?,
            (Some(Node::Leaf(leaf)), None) => Some(*leaf),
            _ => None,
        })
    }

    fn remove(&mut self, path: &[u8], objects: &impl Objects) -> Result<bool> {
        let (name, below) = split(path);
        let nodes = self.nodes(objects)?;
        let removed = match (nodes.get_mut(name), below) {
            (Some(Node::Folder(folder)), Some(below)) => {
                let removed = folder.remove(below, objects)?;
                if removed && folder.nodes(objects)?.is_empty() {
                    nodes.remove(name);
                }
                removed
            }
            (Some(Node::Leaf(_)), None) => nodes.remove(name).is_some(),
            _ => false,
        };
        if removed {
            self.id = None;
        }
        Ok(removed)
    }

    fn put(
        &mut self,
        path: &[u8],
        leaf: Leaf,
        objects: &impl Objects,
    ) -> Result<std::result::Result<(), Blocked>> {
        let (name, below) = split(path);
        let nodes = self.nodes(objects)?;
        let placed = match below {
            Some(below) => {
                let file = name.strip_suffix(b"/").unwrap_or(name);
                if let Some(Node::Leaf(found)) = nodes.get(file) {
                    return Ok(Err(match found.mode {
                        0o120_000 => Blocked::ByLink(file.to_vec()),
                        _ => Blocked::ByOther,
                    }));
                }
                let node = nodes
                    .entry(name.to_vec())
                    .or_insert_with(|| Node::Folder(Folder::empty()));
                match node {
                    Node::Folder(folder) => match folder.put(below, leaf, objects)? {
                        Err(Blocked::ByLink(link)) => {
                            Err(Blocked::ByLink([name, link.as_slice()].concat()))
                        }
                        placed => placed,
                    },
                    Node::Leaf(_) => Err(Blocked::ByOther),
                }
            }
            None if nodes.contains_key([name, b"/"].concat().as_slice()) => Err(Blocked::ByOther),
            None => {
                nodes.insert(name.to_vec(), Node::Leaf(leaf));
                Ok(())
            }
        };
        if placed.is_ok() {
            self.id = None;
        }
        Ok(placed)
    }

    fn write(&mut self, objects: &mut impl Objects) -> Result<ObjectId> {
        if let Some(id) = self.id {
            return Ok(id);
        }
        let mut content = Vec::new();
        for (name, node) in self.nodes.iter_mut().flatten() {
            let (name, mode, id) = match node {
                Node::Leaf(leaf) => (name.as_slice(), leaf.mode, leaf.id),
                Node::Folder(folder) => {
                    let name = name.strip_suffix(b"/").unwrap_or(name);
                    (name, DIRECTORY, folder.write(objects)?)
                }
            };
            content.extend_from_slice(format!("{mode:o} ").as_bytes());
            content.extend_from_slice(name);
            content.push(0);
            content.extend_from_slice(id.as_slice());
        }
        let id = objects.keep(Kind::Tree, content)?;
        self.id = Some(id);
        Ok(id)
    }
}

/// The first name of `path`, with its slash when more follows, and what follows.
fn split(path: &[u8]) -> (&[u8], Option<&[u8]>) {
    match path.find_byte(b'/') {
        Some(at) => (&path[..=at], Some(&path[at + 1..])),
        None => (path, None),
    }
}

fn read(id: ObjectId, content: &[u8]) -> Option<BTreeMap<Vec<u8>, Node>> {
    let width = id.kind().len_in_bytes();
    let mut nodes = BTreeMap::new();
    let mut rest = content;
    while !rest.is_empty() {
        let blank = rest.find_byte(b' ')?;
        let mode = u32::from_str_radix(std::str::from_utf8(&rest[..blank]).ok()?, 8).ok()?;
        let end = rest.find_byte(0)?;
        let mut name = rest.get(blank + 1..end)?.to_vec();
        let id = ObjectId::from_bytes_or_panic(rest.get(end + 1..end + 1 + width)?);
        rest = &rest[end + 1 + width..];
        let node = if mode == DIRECTORY {
            name.push(b'/');
            Node::Folder(Folder::at(id))
        } else {
            Node::Leaf(Leaf { mode, id })
        };
        nodes.insert(name, node);
    }
    Some(nodes)
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    #[derive(Default)]
    struct Memory(HashMap<ObjectId, Vec<u8>>);

    impl Objects for Memory {
        fn content(&self, id: ObjectId, _: Kind) -> Result<Vec<u8>> {
            self.0.get(&id).cloned().context("kept before")
        }
        fn keep(&mut self, kind: Kind, content: Vec<u8>) -> Result<ObjectId> {
            let id = gix::objs::compute_hash(gix::hash::Kind::Sha1, kind, &content)?;
            self.0.insert(id, content);
            Ok(id)
        }
    }

    fn file(memory: &mut Memory, content: &str) -> Leaf {
        let id = memory.keep(Kind::Blob, content.into()).expect("memory");
        Leaf {
            mode: 0o100_644,
            id,
        }
    }

    #[test]
    fn a_tree_is_written_in_gits_order_and_loses_empty_folders() {
        let mut memory = Memory::default();
        let empty = memory.keep(Kind::Tree, Vec::new()).expect("memory");
        let mut tree = Tree::at(empty);
        let leaf = file(&mut memory, "x\n");
        for path in ["a/b", "a.c", "a-d", "e/f/g"] {
            tree.put(path.as_bytes(), leaf, &memory)
                .expect("read")
                .expect("free");
        }
        assert!(tree.remove(b"e/f/g", &memory).expect("read"));
        assert!(!tree.remove(b"e/f/g", &memory).expect("read"));
        let id = tree.write(&mut memory).expect("written");
        // As `git mktree` gives it for the same entries.
        let content = memory.content(id, Kind::Tree).expect("kept");
        let order = ["a-d", "a.c", "a"].map(|name| content.find(format!(" {name}\0")).expect(name));
        assert!(order.is_sorted());
        assert!(!content.contains_str("e\0"));
        let mut again = Tree::at(id);
        assert_eq!(again.leaf(b"a/b", &memory).expect("read"), Some(leaf));
        assert_eq!(again.write(&mut memory).expect("unchanged"), id);
    }

    #[test]
    fn links_and_files_block_what_would_be_below_them() {
        let mut memory = Memory::default();
        let empty = memory.keep(Kind::Tree, Vec::new()).expect("memory");
        let mut tree = Tree::at(empty);
        let leaf = file(&mut memory, "x\n");
        let link = Leaf {
            mode: 0o120_000,
            ..leaf
        };
        let mut put = |path: &[u8], leaf| tree.put(path, leaf, &memory).expect("read");
        put(b"d/link", link).expect("free");
        put(b"f", leaf).expect("free");
        assert_eq!(
            put(b"d/link/x", leaf),
            Err(Blocked::ByLink(b"d/link".to_vec()))
        );
        assert_eq!(put(b"f/x", leaf), Err(Blocked::ByOther));
        assert_eq!(put(b"d", leaf), Err(Blocked::ByOther));
    }
}
