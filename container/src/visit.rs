//! The walk through a file.

use crate::code;
use crate::error::ContainerError;
use crate::found::{Found, Place};

/// Counts places and passes the content of each to the caller.
pub(crate) struct Visit<'v> {
    pub place: Place,
    count: u32,
    each: &'v mut dyn FnMut(&Place, Found<'_>),
}

impl<'v> Visit<'v> {
    /// Starts at the file itself.
    pub fn new(each: &'v mut dyn FnMut(&Place, Found<'_>)) -> Visit<'v> {
        Visit { place: Place::default(), count: 0, each }
    }

    /// Passes on content at the next place.
    pub fn next(&mut self, found: Found<'_>) {
        self.count += 1;
        self.place.number = self.count;
        (self.each)(&self.place, found);
    }

    /// Visits the bytes of a cubin.
    pub fn cubin(&mut self, bytes: &[u8]) {
        let found = match code::image(bytes) {
            Ok(image) => Found::Image(image),
            Err(why) => Found::Broken(why),
        };
        self.next(found);
    }

    /// Reports an error of the file or member as a whole.
    pub fn broken(&mut self, why: ContainerError) {
        self.place.number = 0;
        self.place.arch = None;
        (self.each)(&self.place, Found::Broken(why));
    }
}
