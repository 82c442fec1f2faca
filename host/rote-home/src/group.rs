//! Work that many hand in and one of them does for all: one transaction, and one sync, for whatever waits meanwhile.
//!
//! Invariants: if nobody is working, the caller works: a thread at once, a task after yielding once so that others can
//! join; no answer is given before the work is done; what waits is taken in the order in which it came. Whoever waits with
//! a thread goes first when the next one is called: a task that was called may have no thread to run on. Slow work is done
//! by a thread that waits for it, never by a task. The lock of the state is taken before that of a slot, never behind it.

use std::cell::Cell;
use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::Duration;

/// How long a thread that has to resume a future waits before it looks whether it can work itself.
const LOOK_AGAIN: Duration = Duration::from_millis(1);

/// What waits, and whether somebody is at work.
pub struct Group<A, T> {
    state: Mutex<State<A, T>>,
}

struct State<A, T> {
    waiting: VecDeque<Waiting<A, T>>,
    is_at_work: bool,
}

struct Waiting<A, T> {
    ask: A,
    is_slow: bool,
    slot: Arc<Slot<T>>,
}

/// Where an answer is put, and who is told.
struct Slot<T>(Mutex<Answer<T>>);

struct Answer<T> {
    given: Option<T>,
    /// Whoever does the work is gone without an answer.
    is_lost: bool,
    waker: Option<Waker>,
    /// The waker is that of a thread.
    is_thread: bool,
}

/// Something that was handed in. It has to be waited for, or polled.
#[must_use = "what nobody waits for may never be done"]
pub struct Handed<'g, A, T, W> {
    group: &'g Group<A, T>,
    work: W,
    slot: Arc<Slot<T>>,
    is_answered: Cell<bool>,
    /// Others have had their turn.
    has_let_run: bool,
}

impl<A, T> Default for Group<A, T> {
    fn default() -> Self {
        Self { state: Mutex::new(State { waiting: VecDeque::new(), is_at_work: false }) }
    }
}

impl<A, T> std::fmt::Debug for Group<A, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Group").finish_non_exhaustive()
    }
}

impl<A, T> Group<A, T> {
    /// Hands something in for a task to wait for; `work` does it, and all that waits beside it, and gives an answer for each,
    /// in their order.
    pub fn hand_in<W: Fn(Vec<A>) -> Vec<T>>(&self, ask: A, work: W) -> Handed<'_, A, T, W> {
        self.queue(ask, false, work)
    }

    /// As [`Group::hand_in`], and waits with the thread for the answer.
    pub fn wait<W: Fn(Vec<A>) -> Vec<T>>(&self, ask: A, is_slow: bool, work: W) -> T {
        self.queue(ask, is_slow, work).wait()
    }

    fn queue<W>(&self, ask: A, is_slow: bool, work: W) -> Handed<'_, A, T, W> {
        let answer = Answer { given: None, is_lost: false, waker: None, is_thread: false };
        let slot = Arc::new(Slot(Mutex::new(answer)));
        self.state().waiting.push_back(Waiting { ask, is_slow, slot: Arc::clone(&slot) });
        Handed { group: self, work, slot, is_answered: Cell::new(false), has_let_run: false }
    }

    fn state(&self) -> MutexGuard<'_, State<A, T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<A, T> State<A, T> {
    /// Whom to call to work.
    fn next(&self) -> Option<Waker> {
        let is_thread = |one: &&Waiting<A, T>| one.slot.answer().is_thread;
        let next = self.waiting.iter().find(is_thread).or_else(|| self.waiting.iter().find(|one| !one.is_slow));
        next.and_then(|one| one.slot.answer().waker.take())
    }
}

impl<T> Slot<T> {
    fn answer(&self) -> MutexGuard<'_, Answer<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn give(&self, given: Option<T>) {
        let mut answer = self.answer();
        answer.is_lost = given.is_none();
        answer.given = given;
        let waker = answer.waker.take();
        drop(answer);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    fn take(&self) -> Option<T> {
        let mut answer = self.answer();
        assert!(!answer.is_lost, "whoever did the work for several panicked");
        answer.given.take()
    }
}

/// Somebody is at work, with what he took; what he leaves without an answer is lost, and the next one is called.
struct AtWork<'g, A, T> {
    group: &'g Group<A, T>,
    slots: VecDeque<Arc<Slot<T>>>,
}

impl<A, T> Drop for AtWork<'_, A, T> {
    fn drop(&mut self) {
        for slot in &self.slots {
            slot.give(None);
        }
        let mut state = self.group.state();
        state.is_at_work = false;
        let next = state.next();
        drop(state);
        next.into_iter().for_each(Waker::wake);
    }
}

/// What nobody waits for any more is not done, unless somebody is at it.
impl<A, T, W> Drop for Handed<'_, A, T, W> {
    fn drop(&mut self) {
        if self.is_answered.get() {
            return;
        }
        let mut state = self.group.state();
        state.waiting.retain(|one| !Arc::ptr_eq(&one.slot, &self.slot));
        let next = if state.is_at_work { None } else { state.next() };
        drop(state);
        next.into_iter().for_each(Waker::wake);
    }
}

impl<A, T, W: Fn(Vec<A>) -> Vec<T>> Handed<'_, A, T, W> {
    fn wait(self) -> T {
        let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
        loop {
            if let Some(given) = self.look(&waker, true) {
                return given;
            }
            std::thread::park();
        }
    }

    /// Returns the answer, or does the work first, or says whom to tell of it.
    fn look(&self, waker: &Waker, is_thread: bool) -> Option<T> {
        loop {
            if let Some(given) = self.slot.take() {
                self.is_answered.set(true);
                return Some(given);
            }
            let mut state = self.group.state();
            let (taken, left) = if state.is_at_work {
                (VecDeque::new(), std::mem::take(&mut state.waiting))
            } else {
                std::mem::take(&mut state.waiting).into_iter().partition(|one| is_thread || !one.is_slow)
            };
            state.waiting = left;
            if taken.is_empty() {
                let mut answer = self.slot.answer();
                if answer.given.is_none() && !answer.is_lost {
                    (answer.waker, answer.is_thread) = (Some(waker.clone()), is_thread);
                    return None;
                }
                continue;
            }
            state.is_at_work = true;
            drop(state);
            self.work_off(taken);
        }
    }

    fn work_off(&self, taken: VecDeque<Waiting<A, T>>) {
        let (asks, slots) = taken.into_iter().map(|one| (one.ask, one.slot)).unzip();
        let mut at_work = AtWork { group: self.group, slots };
        for given in (self.work)(asks) {
            if let Some(slot) = at_work.slots.pop_front() {
                slot.give(Some(given));
            }
        }
    }
}

impl<A, T, W: Fn(Vec<A>) -> Vec<T> + Unpin> Future for Handed<'_, A, T, W> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        if !std::mem::replace(&mut self.has_let_run, true) {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        self.look(context.waker(), false).map_or(Poll::Pending, Poll::Ready)
    }
}

/// Goes on with a thread.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// A future that is not given up: where it is dropped before its end, the thread that drops it goes on with it. For what waits
/// for work of this kind only.
#[derive(Debug)]
pub struct ToTheEnd<F: Future> {
    future: Option<Pin<Box<F>>>,
    is_begun: bool,
}

impl<F: Future> ToTheEnd<F> {
    /// Takes a future; one that is never polled as part of this is not made to run.
    pub fn new(future: F) -> Self {
        Self { future: Some(Box::pin(future)), is_begun: false }
    }
}

impl<F: Future> Future for ToTheEnd<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        self.is_begun = true;
        let Some(future) = &mut self.future else { return Poll::Pending };
        let polled = future.as_mut().poll(context);
        if polled.is_ready() {
            self.future = None;
        }
        polled
    }
}

impl<F: Future> Drop for ToTheEnd<F> {
    fn drop(&mut self) {
        let is_kept = self.is_begun && !std::thread::panicking();
        let Some(mut future) = self.future.take().filter(|_| is_kept) else { return };
        let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
        while future.as_mut().poll(&mut Context::from_waker(&waker)).is_pending() {
            // Who is called to work may be a task of this very thread.
            std::thread::park_timeout(LOOK_AGAIN);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc;

    use super::*;

    /// Polls until something else would have to happen.
    fn poll<F: Future + Unpin>(future: &mut F) -> Poll<F::Output> {
        let mut context = Context::from_waker(Waker::noop());
        match Pin::new(&mut *future).poll(&mut context) {
            Poll::Pending => Pin::new(future).poll(&mut context),
            ready => ready,
        }
    }

    #[test]
    fn whoever_is_alone_does_it_at_once() {
        let group = Group::default();
        let work = |asks: Vec<u32>| asks.into_iter().map(|ask| ask * 2).collect();
        assert_eq!(group.wait(3, true, work), 6);
        assert_eq!(poll(&mut group.hand_in(4, work)), Poll::Ready(8));
    }

    #[test]
    fn what_waits_meanwhile_is_done_together_in_its_order() {
        let group = Group::default();
        let groups = Mutex::new(Vec::new());
        let (begun, has_begun) = mpsc::channel();
        let (go, may_go) = mpsc::channel();
        let may_go = Mutex::new(may_go);
        let work = |asks: Vec<u32>| {
            if asks == [0] {
                begun.send(()).unwrap();
                may_go.lock().unwrap().recv().unwrap();
            }
            groups.lock().unwrap().push(asks.clone());
            asks
        };
        std::thread::scope(|scope| {
            scope.spawn(|| group.wait(0, true, work));
            has_begun.recv().unwrap();
            let handed: Vec<_> = (1..=8).map(|ask| group.hand_in(ask, &work)).collect();
            drop(group.hand_in(9, &work));
            let waiting: Vec<_> = handed.into_iter().map(ToTheEnd::new).collect();
            go.send(()).unwrap();
            assert_eq!(group.wait(10, true, work), 10);
            for (at, mut one) in (1..).zip(waiting) {
                assert_eq!(poll(&mut one), Poll::Ready(at));
            }
        });
        assert_eq!(*groups.lock().unwrap(), [vec![0], (1..=8).chain([10]).collect()]);
    }

    #[test]
    fn tasks_that_are_ready_together_are_one_group() {
        let group = Group::default();
        let groups = AtomicUsize::new(0);
        let work = |asks: Vec<u32>| {
            groups.fetch_add(1, Ordering::SeqCst);
            asks
        };
        let mut handed: Vec<_> = (0..5).map(|ask| group.hand_in(ask, work)).collect();
        let mut context = Context::from_waker(Waker::noop());
        for one in &mut handed {
            assert_eq!(Pin::new(one).poll(&mut context), Poll::Pending);
        }
        for (ask, one) in (0..).zip(&mut handed) {
            assert_eq!(Pin::new(one).poll(&mut context), Poll::Ready(ask));
        }
        assert_eq!(groups.load(Ordering::SeqCst), 1);
    }

    #[test]
    fn a_task_leaves_slow_work_to_a_thread() {
        let group = Group::default();
        let seen = Mutex::new(Vec::new());
        let work = |asks: Vec<u32>| {
            seen.lock().unwrap().push(asks.clone());
            asks
        };
        let slow = group.queue(1, true, &work);
        assert_eq!(poll(&mut group.hand_in(2, &work)), Poll::Ready(2));
        assert_eq!(slow.wait(), 1);
        assert_eq!(*seen.lock().unwrap(), [[2], [1]]);
    }

    #[test]
    fn many_threads_and_dropped_futures_all_come_to_an_end() {
        let group = Group::default();
        let done = AtomicUsize::new(0);
        let work = |asks: Vec<usize>| {
            done.fetch_add(asks.len(), Ordering::SeqCst);
            asks
        };
        std::thread::scope(|scope| {
            for thread in 0..8 {
                let (group, work) = (&group, &work);
                scope.spawn(move || {
                    for ask in 0..500 {
                        if thread < 4 {
                            assert_eq!(group.wait(ask, thread % 2 == 0, work), ask);
                        } else {
                            let mut kept = ToTheEnd::new(group.hand_in(ask, work));
                            let _begun = poll(&mut kept);
                        }
                    }
                });
            }
        });
        assert_eq!(done.load(Ordering::SeqCst), 8 * 500);
    }

    #[test]
    fn what_was_never_polled_is_not_done_and_what_was_is() {
        let group = Group::default();
        let done = AtomicUsize::new(0);
        let work = |asks: Vec<u32>| {
            done.fetch_add(asks.len(), Ordering::SeqCst);
            asks
        };
        drop(ToTheEnd::new(group.hand_in(1, work)));
        assert_eq!(done.load(Ordering::SeqCst), 0);
        let mut begun = ToTheEnd::new(group.hand_in(2, work));
        assert_eq!(Pin::new(&mut begun).poll(&mut Context::from_waker(Waker::noop())), Poll::Pending);
        drop(begun);
        assert_eq!(done.load(Ordering::SeqCst), 1);
    }

    #[test]
    fn who_waits_is_told_that_the_work_was_torn_down() {
        let group = Group::default();
        let torn = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            group.wait(1, true, |_: Vec<u32>| -> Vec<u32> { panic!("on purpose") })
        }));
        assert!(torn.is_err());
        assert_eq!(group.wait(2, true, |asks: Vec<u32>| asks), 2);
    }
}
