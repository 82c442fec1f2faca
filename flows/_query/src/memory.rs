//! The guest's allocator: blocks of one size class are kept for the next value of that size.
//!
//! A query makes many small values and ends. The library's allocator joins and splits blocks, which costs more than
//! all the rest of an evaluation; this one takes a block from a list or from the end. What is freed serves its own
//! class only; the sandbox bounds the memory as a whole.

use core::alloc::{GlobalAlloc, Layout};
use core::cell::Cell;
use core::ptr;

/// Every block begins at a multiple of this, and has a multiple of it as its size.
const UNIT: usize = 16;
/// Sizes up to this one have a class each; above it four classes share a doubling.
const SMALL: usize = 1024;
const SMALL_CLASSES: usize = SMALL / UNIT;
const CLASSES: usize = SMALL_CLASSES + 4 * (usize::BITS as usize - 10);
/// Memory that is asked for at once, so that growing is rare; less where there is no more.
const CHUNK: usize = 4 << 20;

/// Where memory comes from.
pub(crate) trait Source {
    /// Returns the address of at least `bytes` more bytes, and their number.
    fn more(&self, bytes: usize) -> Option<(usize, usize)>;
}

/// Free blocks by class, and the memory behind the last block.
pub(crate) struct Classes<S> {
    free: [Cell<*mut u8>; CLASSES],
    next: Cell<usize>,
    end: Cell<usize>,
    source: S,
}

impl<S: Source> Classes<S> {
    pub(crate) const fn new(source: S) -> Self {
        Self { free: [const { Cell::new(ptr::null_mut()) }; CLASSES], next: Cell::new(0), end: Cell::new(0), source }
    }

    /// Takes `size` bytes from the end.
    fn cut(&self, size: usize, align: usize) -> Option<usize> {
        let start = self.next.get().checked_next_multiple_of(align)?;
        let end = start.checked_add(size)?;
        if end <= self.end.get() {
            self.next.set(end);
            return Some(start);
        }
        let wanted = size.checked_add(align)?;
        let (more, bytes) = self.source.more(wanted.max(CHUNK)).or_else(|| self.source.more(wanted))?;
        if more != self.end.get() {
            self.next.set(more);
        }
        self.end.set(more.checked_add(bytes)?);
        let start = self.next.get().checked_next_multiple_of(align)?;
        self.next.set(start.checked_add(size)?);
        Some(start)
    }

    /// Grows the last block where it is.
    fn extend(&self, block: usize, old: usize, new: usize) -> bool {
        let last = block.checked_add(old) == Some(self.next.get());
        let end = block.checked_add(new).filter(|end| last && *end <= self.end.get());
        end.map(|end| self.next.set(end)).is_some()
    }
}

/// The class of blocks for `size` bytes, and how large they are.
const fn class(size: usize) -> Option<(usize, usize)> {
    if size <= SMALL {
        let units = size.div_ceil(UNIT);
        return Some((units.saturating_sub(1), if units == 0 { UNIT } else { units * UNIT }));
    }
    let power = usize::BITS - 1 - (size - 1).leading_zeros();
    let step = 1_usize << (power - 2);
    let Some(block) = size.checked_next_multiple_of(step) else { return None };
    let quarter = (block - 1) / step - 4;
    Some((SMALL_CLASSES + 4 * (power as usize - 10) + quarter, block))
}

// SAFETY: a block is handed out once until it is given back, is aligned and is as large as its class, which depends on
// its layout alone. Only one thread ever uses an allocator: a guest has no other.
unsafe impl<S: Source> GlobalAlloc for Classes<S> {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let Some((class, block)) = class(layout.size().max(layout.align())) else { return ptr::null_mut() };
        let head = &self.free[class];
        let first = head.get();
        if first.is_null() || layout.align() > UNIT {
            let cut = self.cut(block, layout.align().max(UNIT));
            return cut.map_or(ptr::null_mut(), |start| start as *mut u8);
        }
        // SAFETY: a free block of any class has room for an address, and holds that of the next one.
        head.set(unsafe { first.cast::<*mut u8>().read() });
        first
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        let Some((class, _)) = class(layout.size().max(layout.align())) else { return };
        let head = &self.free[class];
        // SAFETY: as above; the block is the allocator's again.
        unsafe { block.cast::<*mut u8>().write(head.get()) };
        head.set(block);
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let (Some((_, old)), Some((_, new))) =
            (class(layout.size().max(layout.align())), class(size.max(layout.align())))
        else {
            return ptr::null_mut();
        };
        if old == new || (new > old && self.extend(block as usize, old, new)) {
            return block;
        }
        // SAFETY: the layout is that of the block with another size, which the caller says is a legal one.
        let layout_then = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        // SAFETY: both blocks hold what is copied, and are not the same.
        unsafe {
            let moved = self.alloc(layout_then);
            if !moved.is_null() {
                ptr::copy_nonoverlapping(block, moved, layout.size().min(size));
                self.dealloc(block, layout);
            }
            moved
        }
    }
}

#[cfg(target_family = "wasm")]
mod guest {
    use super::{Classes, Source};

    const PAGE: usize = 64 << 10;

    #[global_allocator]
    static MEMORY: Classes<Pages> = Classes::new(Pages);

    /// The guest's own memory, by the page.
    struct Pages;

    impl Source for Pages {
        fn more(&self, bytes: usize) -> Option<(usize, usize)> {
            let pages = bytes.div_ceil(PAGE);
            match core::arch::wasm32::memory_grow(0, pages) {
                usize::MAX => None,
                before => Some((before * PAGE, pages * PAGE)),
            }
        }
    }

    // SAFETY: the target has no threads.
    unsafe impl Sync for Classes<Pages> {}
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Parts of one large block of the test's own.
    struct Fixed {
        next: Cell<usize>,
        end: usize,
    }

    impl Source for Fixed {
        fn more(&self, bytes: usize) -> Option<(usize, usize)> {
            let start = self.next.get();
            self.next.set(start.checked_add(bytes).filter(|end| *end <= self.end)?);
            Some((start, bytes))
        }
    }

    #[test]
    fn a_class_holds_its_sizes_and_wastes_at_most_a_quarter() {
        let mut before = None;
        for size in (1..SMALL * 2).chain((11..30).flat_map(|bits| [(1 << bits) - 1, 1 << bits, (1 << bits) + 1])) {
            let (class, block) = class(size).unwrap();
            assert!(class < CLASSES && block >= size && block % UNIT == 0, "{size}");
            assert!(block - size < UNIT.max(size / 4 + 1), "{size} in {block}");
            assert!(
                before.is_none_or(|(less, smaller)| (class == less) == (block == smaller) && class >= less),
                "{size}"
            );
            before = Some((class, block));
        }
        assert_eq!(super::class(usize::MAX), None);
    }

    #[test]
    fn blocks_keep_what_is_written_and_are_used_again() {
        let arena = vec![0_u8; 64 << 20].leak();
        let start = arena.as_mut_ptr() as usize;
        let classes = Classes::new(Fixed { next: Cell::new(start), end: start + arena.len() });
        let mut random = 1_u64;
        let mut next = move |below: usize| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 33) as usize % below
        };
        let mut live: Vec<(*mut u8, Layout, u8)> = Vec::new();
        for round in 0..200_000_usize {
            let (mark, size) = (round as u8, 1 + next(if round % 50 == 0 { 20_000 } else { 200 }));
            match next(3) {
                0 if live.len() > 400 => {
                    let (block, layout, mark) = live.swap_remove(next(live.len()));
                    // SAFETY: a live block has the size of its layout; it is not used afterwards.
                    unsafe {
                        assert!((0..layout.size()).all(|at| *block.add(at) == mark));
                        classes.dealloc(block, layout);
                    }
                }
                1 if !live.is_empty() => {
                    let at = next(live.len());
                    let (block, layout, mark) = live[at];
                    // SAFETY: as above; what takes its place has `size` bytes.
                    unsafe {
                        let moved = classes.realloc(block, layout, size);
                        assert!((0..size.min(layout.size())).all(|at| *moved.add(at) == mark));
                        moved.write_bytes(mark, size);
                        live[at] = (moved, Layout::from_size_align(size, layout.align()).unwrap(), mark);
                    }
                }
                // SAFETY: a new block has the size of its layout, and a block that is given back is not used afterwards.
                _ => unsafe {
                    let layout = Layout::from_size_align(size, 1 << next(6)).unwrap();
                    let block = classes.alloc(layout);
                    assert!(!block.is_null() && (block as usize).is_multiple_of(layout.align()));
                    block.write_bytes(mark, size);
                    live.push((block, layout, mark));
                    if live.len() > 800 {
                        let (block, layout, _) = live.swap_remove(0);
                        classes.dealloc(block, layout);
                    }
                },
            }
        }
        assert!(classes.next.get() - start < 32 << 20, "{}", classes.next.get() - start);
    }
}
