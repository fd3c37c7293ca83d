//! The program's allocator: a nursery for the thread that starts, mimalloc for all else.
//!
//! To lower a small kernel takes three milliseconds, some ten thousand allocations and half a megabyte at a time. A general allocator lays those
//! out over many pages, one set a size, and the system hands out each page at its first touch, for more than a microsecond: a tenth of
//! the time of such a run. The nursery is one block of address space, made of huge pages where the system has them, from which the first
//! thread takes what it needs from front to back; what it frees, it keeps by size and hands out again. So nearly all memory of a small run
//! lies in one page that is warm in the caches. Whatever the nursery has no room for, and whatever other threads allocate, is mimalloc's.
//!
//! Only the thread that allocated first, its *owner*, takes from the nursery and gives back to it, so that nothing is locked or counted atomically.
//! What another thread frees of it stays unused; that is bounded by the size of the nursery. It is never given back to the system.
//!
//! In front of the allocator stands [`Program`]; the book-keeping is in [`Blocks`], which knows no threads.
#![allow(unsafe_code)] // An allocator hands out memory that the language knows nothing of.

use std::alloc::{GlobalAlloc, Layout};
use std::cell::{Cell, UnsafeCell};
use std::ffi::{c_int, c_long};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

use mimalloc::MiMalloc;

/// The address space of the nursery, in bytes: eight huge pages, of which those that are not reached take no memory.
const NURSERY_BYTES: usize = 16 << 20;

/// The size of a huge page, in bytes.
const HUGE_PAGE: usize = 2 << 20;

/// All blocks are aligned to so many bytes, and as many long or a multiple.
const GRAIN: usize = 16;

/// The largest block of the nursery, in bytes.
const MAX_BLOCK: usize = 256 << 10;

/// Up to so many bytes there is a class for each multiple of [`GRAIN`], above four for each power of two.
const FINE: usize = 1024;

/// The classes of sizes.
const CLASSES: usize = class(MAX_BLOCK) + 1;

/// The class of the blocks that hold so many bytes, of which there is at least one.
#[inline]
const fn class(size: usize) -> usize {
    if size <= FINE {
        return (size - 1) / GRAIN;
    }
    // The two bits below the highest one, of the last byte's index, tell the four classes of a power of two apart.
    let last = size - 1;
    let shift = last.ilog2() - 2;
    FINE / GRAIN + (shift as usize - 8) * 4 + (last >> shift) - 4
}

/// The bytes of a class's blocks.
#[inline]
const fn block_bytes(class: usize) -> usize {
    if class < FINE / GRAIN {
        return (class + 1) * GRAIN;
    }
    let coarse = class - FINE / GRAIN;
    (coarse % 4 + 5) << (coarse / 4 + 8)
}

/// A free block: where the next one of its class is.
struct Free {
    next: Option<NonNull<Free>>,
}

/// Blocks of a piece of memory: what was never handed out, and what was given back, by class.
struct Blocks {
    /// The first byte that was never handed out. It and all behind it are zero.
    next: *mut u8,
    /// The end of the memory.
    end: *mut u8,
    /// The free blocks of each class.
    free: [Option<NonNull<Free>>; CLASSES],
}

impl Blocks {
    const fn nothing() -> Blocks {
        Blocks { next: ptr::null_mut(), end: ptr::null_mut(), free: [None; CLASSES] }
    }

    /// A block for that layout, and whether it is known to be zero; `None` where there is no room, or the layout is not for here.
    ///
    /// # Safety
    /// From `next` to `end` there is memory that belongs to nobody else and is zero. The layout has a size.
    #[inline]
    unsafe fn take(&mut self, layout: Layout) -> Option<(NonNull<u8>, bool)> {
        if layout.size() > MAX_BLOCK {
            return None;
        }
        let class = class(layout.size());
        if layout.align() > GRAIN {
            return self.take_new(class, layout.align());
        }
        if let Some(block) = self.free[class] {
            // Safety: what is in a list of free blocks was handed out before with room for a `Free`, and given back.
            self.free[class] = unsafe { block.as_ref() }.next;
            return Some((block.cast(), false));
        }
        self.take_new(class, GRAIN)
    }

    /// A block that was never handed out. What is skipped for the sake of a large alignment, which few layouts have, is lost.
    fn take_new(&mut self, class: usize, align: usize) -> Option<(NonNull<u8>, bool)> {
        let skipped = (self.next as usize).wrapping_neg() & (align - 1);
        let bytes = block_bytes(class);
        if self.end as usize - (self.next as usize) < skipped.saturating_add(bytes) {
            return None;
        }
        let block = NonNull::new(self.next.wrapping_add(skipped))?;
        self.next = block.as_ptr().wrapping_add(bytes);
        Some((block, true))
    }

    /// Makes a block longer where it stands, if nothing was handed out behind it: a list that grows alone is not copied. Whether it did.
    ///
    /// # Safety
    /// The block comes from [`take`](Self::take) of the same blocks with a layout of `old` bytes.
    unsafe fn extend(&mut self, block: NonNull<u8>, old: usize, new: usize) -> bool {
        if new > MAX_BLOCK || block.as_ptr().wrapping_add(block_bytes(class(old))) != self.next {
            return false;
        }
        let bytes = block_bytes(class(new));
        let has_room = self.end as usize - block.as_ptr() as usize >= bytes;
        if has_room {
            self.next = block.as_ptr().wrapping_add(bytes);
        }
        has_room
    }

    /// Takes a block back.
    ///
    /// # Safety
    /// The block comes from [`take`](Self::take) of the same blocks with a layout of that size, and nobody uses it any more.
    #[inline]
    unsafe fn give(&mut self, block: NonNull<u8>, size: usize) {
        let class = class(size);
        let block = block.cast::<Free>();
        // Safety: blocks are aligned, and large enough, for a `Free`.
        unsafe { block.write(Free { next: self.free[class] }) };
        self.free[class] = Some(block);
    }
}

/// The nursery's blocks, for the one thread that owns them.
struct Owned(UnsafeCell<Blocks>);

// Safety: only one thread, the owner, reaches into the cell.
unsafe impl Sync for Owned {}

static BLOCKS: Owned = Owned(UnsafeCell::new(Blocks::nothing()));

/// Where the nursery begins; null as long as there is none.
static START: AtomicPtr<u8> = AtomicPtr::new(ptr::null_mut());

/// Whether a thread owns the nursery.
static IS_OWNED: AtomicBool = AtomicBool::new(false);

/// What a thread is to the nursery.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    /// It has not allocated yet.
    Unknown,
    /// It owns the nursery.
    Owner,
    /// Another thread does.
    Other,
}

thread_local! {
    // Without a destructor, so that it is there from the thread's first allocation to its last.
    static PART: Cell<Part> = const { Cell::new(Part::Unknown) };
}

unsafe extern "C" {
    /// Sets one of mimalloc's options, which have no other way in: its crate names none, and it asks for no variables of the environment.
    fn mi_option_set(option: c_int, value: c_long);
}

/// For how many milliseconds mimalloc keeps memory that is free before the system gets it back. That option's number is this one
/// in all versions of mimalloc.
const PURGE_DELAY: (c_int, c_long) = (15, 10_000);

/// Whether this thread owns the nursery; the first one to ask does.
#[inline]
fn is_owner() -> bool {
    match PART.get() {
        Part::Owner => true,
        Part::Other => false,
        Part::Unknown => join(),
    }
}

/// What a thread does at its first allocation.
#[cold]
fn join() -> bool {
    let is_first = !IS_OWNED.swap(true, Ordering::Relaxed);
    PART.set(if is_first { Part::Owner } else { Part::Other });
    if is_first {
        // After a second, as it would be, the passes of a kernel of 100,000 instructions still take up what others left: it would have
        // been cleared and handed out anew, page by page.
        // Safety: this thread is the first to allocate, and no other one reads options yet.
        unsafe { mi_option_set(PURGE_DELAY.0, PURGE_DELAY.1) };
    }
    if is_first && let Some(start) = reserve() {
        // Safety: this thread alone has swapped a false for a true, and is the owner.
        let blocks = unsafe { &mut *BLOCKS.0.get() };
        blocks.next = start.as_ptr();
        // Safety: so many bytes have been reserved.
        blocks.end = unsafe { start.as_ptr().add(NURSERY_BYTES) };
        START.store(start.as_ptr(), Ordering::Relaxed);
    }
    is_first
}

/// Address space for the nursery at a multiple of the size of huge pages, zero and not used before.
#[cfg(target_os = "linux")]
fn reserve() -> Option<NonNull<u8>> {
    let length = NURSERY_BYTES + HUGE_PAGE;
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // Safety: a new mapping takes nothing from anybody.
    let mapped = unsafe { libc::mmap(ptr::null_mut(), length, protection, flags, -1, 0) };
    if mapped == libc::MAP_FAILED {
        return None;
    }
    let start = mapped.cast::<u8>();
    // Safety: the mapping is one huge page longer than the nursery.
    let start = unsafe { start.add(start.align_offset(HUGE_PAGE)) };
    // Safety: it is within the mapping. Where there are no huge pages, it stays as it is.
    unsafe { libc::madvise(start.cast(), NURSERY_BYTES, libc::MADV_HUGEPAGE) };
    NonNull::new(start)
}

/// Elsewhere mimalloc does all.
#[cfg(not(target_os = "linux"))]
fn reserve() -> Option<NonNull<u8>> {
    None
}

/// Whether a block lies in the nursery.
#[inline]
fn is_inside(block: *mut u8) -> bool {
    // A thread that has been handed a block of the nursery also sees where it begins. Without one nothing lies behind null.
    let start = START.load(Ordering::Relaxed);
    (block as usize).wrapping_sub(start as usize) < NURSERY_BYTES && !start.is_null()
}

/// The allocator of the program.
pub struct Program;

impl Program {
    /// A block from the nursery, and whether it is known to be zero.
    ///
    /// # Safety
    /// As [`GlobalAlloc::alloc`].
    #[inline]
    unsafe fn take(&self, layout: Layout) -> Option<(NonNull<u8>, bool)> {
        if !is_owner() {
            return None;
        }
        // Safety: this thread is the owner; nothing below allocates, so that nobody else is in there. `join` gave it memory of its own or none.
        unsafe { (*BLOCKS.0.get()).take(layout) }
    }
}

/// A block that was asked for; where the system has none, the program ends with an error instead of a signal.
#[inline]
fn there(block: *mut u8) -> *mut u8 {
    #[cfg(target_os = "linux")]
    if block.is_null() {
        out_of_memory();
    }
    block
}

/// Says so and ends. Nothing here may allocate, and other threads may be anywhere.
#[cold]
#[cfg(target_os = "linux")]
fn out_of_memory() -> ! {
    const MESSAGE: &[u8] = b"error: the system has no more memory for ptxc; try fewer --jobs\n";
    // Safety: the bytes are there; where they can't be written, nobody can be told.
    unsafe {
        libc::write(libc::STDERR_FILENO, MESSAGE.as_ptr().cast(), MESSAGE.len() as _);
        libc::_exit(1)
    }
}

// Safety: blocks come from one of two allocators and go back to the same one, which their address tells.
// None of it is inlined: there are thousands of places that allocate, and a small kernel's time is that of fetching code.
unsafe impl GlobalAlloc for Program {
    #[inline(never)]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // Safety: the caller's.
        match unsafe { self.take(layout) } {
            Some((block, _)) => block.as_ptr(),
            None => there(unsafe { MiMalloc.alloc(layout) }),
        }
    }

    #[inline(never)]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // Safety: the caller's.
        match unsafe { self.take(layout) } {
            Some((block, true)) => block.as_ptr(),
            Some((block, false)) => {
                // Safety: the block is as large as the layout.
                unsafe { block.as_ptr().write_bytes(0, layout.size()) };
                block.as_ptr()
            }
            None => there(unsafe { MiMalloc.alloc_zeroed(layout) }),
        }
    }

    #[inline(never)]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if !is_inside(block) {
            // Safety: the caller's; what is not in the nursery comes from there.
            unsafe { MiMalloc.dealloc(block, layout) };
        } else if is_owner()
            && let Some(block) = NonNull::new(block)
        {
            // Safety: this thread is the owner; the block was taken with this layout.
            unsafe { (*BLOCKS.0.get()).give(block, layout.size()) };
        }
    }

    #[inline(never)]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if !is_inside(block) {
            // Safety: the caller's.
            return there(unsafe { MiMalloc.realloc(block, layout, size) });
        }
        if size <= MAX_BLOCK && class(size) == class(layout.size()) {
            return block;
        }
        if size > layout.size()
            && is_owner()
            && let Some(start) = NonNull::new(block)
            // Safety: this thread is the owner; the block was taken with this layout.
            && unsafe { (*BLOCKS.0.get()).extend(start, layout.size(), size) }
        {
            return block;
        }
        // Safety: the caller's: the size does not overflow with that alignment, and is not zero. Two blocks do not overlap.
        unsafe {
            let new = self.alloc(Layout::from_size_align_unchecked(size, layout.align()));
            if !new.is_null() {
                ptr::copy_nonoverlapping(block, new, layout.size().min(size));
                self.dealloc(block, layout);
            }
            new
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_hold_their_sizes_and_waste_little() {
        let mut last = 0;
        for size in 1..=MAX_BLOCK {
            let class = class(size);
            let bytes = block_bytes(class);
            assert!(bytes >= size && bytes.is_multiple_of(GRAIN), "{size}: {bytes}");
            assert!(bytes - size < GRAIN.max(size / 4 + 1), "{size}: {bytes}");
            assert!(class == last || class == last + 1, "{size}: {class} behind {last}");
            last = class;
        }
        assert_eq!(last + 1, CLASSES);
    }

    /// Blocks of a piece of zeroed memory, taken and given back in a random order, do not overlap and keep what is written to them.
    #[test]
    fn blocks_do_not_overlap() {
        let mut memory = vec![0u64; 1 << 17];
        let mut blocks = Blocks::nothing();
        blocks.next = memory.as_mut_ptr().cast();
        blocks.next = unsafe { blocks.next.add(blocks.next.align_offset(GRAIN)) };
        blocks.end = unsafe { memory.as_mut_ptr().add(memory.len()).cast() };
        let mut random = fastrand::Rng::with_seed(7);
        let mut held: Vec<(NonNull<u8>, usize, u8)> = Vec::new();
        let (mut full, mut extended) = (0, 0);
        for step in 0..40_000u32 {
            if random.u8(..) < 20
                && let Some((block, size, value)) = held.pop()
            {
                let longer = size + random.usize(1..=2 * size);
                let is_longer = unsafe { blocks.extend(block, size, longer) };
                extended += u32::from(is_longer);
                let kept = if is_longer { longer } else { size };
                let bytes = unsafe { std::slice::from_raw_parts_mut(block.as_ptr(), kept) };
                assert!(bytes[..size].iter().all(|&byte| byte == value));
                bytes.fill(value);
                held.push((block, kept, value));
            } else if random.u8(..) < 140 {
                let size = 1usize << random.u32(0..14);
                let size = size + random.usize(..size);
                let layout = Layout::from_size_align(size, 1 << random.u32(0..8)).unwrap();
                match unsafe { blocks.take(layout) } {
                    Some((block, is_zero)) => {
                        assert_eq!(block.as_ptr() as usize % layout.align(), 0);
                        let bytes = unsafe { std::slice::from_raw_parts_mut(block.as_ptr(), size) };
                        assert!(!is_zero || bytes.iter().all(|&byte| byte == 0));
                        bytes.fill(step as u8);
                        held.push((block, size, step as u8));
                    }
                    None => full += 1,
                }
            } else if !held.is_empty() {
                let (block, size, value) = held.swap_remove(random.usize(..held.len()));
                let bytes = unsafe { std::slice::from_raw_parts(block.as_ptr(), size) };
                assert!(bytes.iter().all(|&byte| byte == value));
                unsafe { blocks.give(block, size) };
            }
        }
        assert!(full > 0 && extended > 0, "the test reaches the end of the memory, and makes blocks longer");
    }

    #[test]
    fn what_is_not_for_the_nursery_is_refused() {
        let mut blocks = Blocks::nothing();
        for (size, align) in [(1, 1), (MAX_BLOCK + 1, 8), (64, 1 << 40)] {
            let layout = Layout::from_size_align(size, align).unwrap();
            assert!(unsafe { blocks.take(layout) }.is_none());
        }
    }
}
