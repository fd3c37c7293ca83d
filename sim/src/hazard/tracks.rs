//! The histories of a warp's lanes: one track for the lanes that took the same path.

use smallvec::SmallVec;

use super::track::Track;

/// The tracks of a warp; no lane is on two of them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tracks {
    list: SmallVec<[Track; 1]>,
    /// The track of the lanes that execute.
    current: usize,
}

impl Tracks {
    /// Moves the lanes that execute together to a track that holds only them. Lanes that appear for
    /// the first time have no history.
    pub(super) fn bring_together(&mut self, lanes: u32) -> &mut Track {
        if self.list.get(self.current).is_none_or(|track| track.lanes != lanes) {
            self.regroup(lanes);
        }
        &mut self.list[self.current]
    }

    /// The track of the lanes that were last brought together.
    pub(super) fn current(&mut self) -> &mut Track {
        &mut self.list[self.current]
    }

    fn regroup(&mut self, lanes: u32) {
        if let Some(at) = self.list.iter().position(|track| track.lanes == lanes) {
            self.current = at;
            return;
        }
        let mut together: Option<Track> = None;
        for mut track in std::mem::take(&mut self.list) {
            let common = track.lanes & lanes;
            if common != track.lanes {
                let part = (common != 0).then(|| track.split(common));
                self.list.push(track);
                let Some(part) = part else { continue };
                track = part;
            }
            match &mut together {
                Some(others) => others.join(track),
                None => together = Some(track),
            }
        }
        let mut track = together.unwrap_or_else(|| Track::new(lanes));
        track.lanes = lanes;
        self.current = self.list.len();
        self.list.push(track);
    }

    /// Removes lanes that have ended.
    pub(crate) fn end(&mut self, lanes: u32) {
        self.list.iter_mut().for_each(|track| track.lanes &= !lanes);
        self.list.retain(|track| track.lanes != 0);
        self.current = 0;
    }
}
