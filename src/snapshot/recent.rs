//! Objects that a pack has just given: the files of one folder are often stored as
//! differences to one another, and each would be made from the first again.

use std::collections::{HashMap, VecDeque};

use gix::objs::Kind;
use gix::odb::pack::cache::DecodeEntry;

/// How much is remembered, for each thread.
const BYTES_AT_MOST: usize = 24 << 20;
/// Objects above this size are not.
const OBJECT_AT_MOST: usize = 1 << 20;

type Place = (u32, u64);

/// The last objects, by their place in a pack; the oldest goes first.
#[derive(Default)]
pub(super) struct Recent {
    objects: HashMap<Place, (Kind, usize, Vec<u8>)>,
    order: VecDeque<Place>,
    bytes: usize,
}

impl DecodeEntry for Recent {
    fn put(&mut self, pack: u32, offset: u64, data: &[u8], kind: Kind, compressed: usize) {
        if data.len() > OBJECT_AT_MOST {
            return;
        }
        let place = (pack, offset);
        let object = (kind, compressed, data.to_vec());
        if self.objects.insert(place, object).is_none() {
            self.order.push_back(place);
            self.bytes += data.len();
        }
        while self.bytes > BYTES_AT_MOST
            && let Some(oldest) = self.order.pop_front()
        {
            if let Some((_, _, data)) = self.objects.remove(&oldest) {
                self.bytes -= data.len();
            }
        }
    }

    fn get(&mut self, pack: u32, offset: u64, out: &mut Vec<u8>) -> Option<(Kind, usize)> {
        let (kind, compressed, data) = self.objects.get(&(pack, offset))?;
        out.clear();
        out.extend_from_slice(data);
        Some((*kind, *compressed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_goes_first() {
        let mut recent = Recent::default();
        let data = vec![1; OBJECT_AT_MOST];
        for offset in 0..40 {
            recent.put(0, offset, &data, Kind::Blob, 7);
        }
        let mut out = Vec::new();
        assert_eq!(recent.get(0, 0, &mut out), None);
        assert_eq!(recent.get(0, 39, &mut out), Some((Kind::Blob, 7)));
        assert_eq!(out, data);
        assert!(recent.bytes <= BYTES_AT_MOST);
    }
}
