//! Limits the number of concurrent cases on a cluster.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::{Semaphore, SemaphorePermit};

/// The slots of a cluster, granted in the order of requests.
#[derive(Debug)]
pub(super) struct Seats {
    free: Semaphore,
    /// Never held across an await.
    counted: Mutex<Counted>,
}

#[derive(Debug)]
struct Counted {
    all: u32,
    most: u32,
    waiting: u32,
    /// Number of cases that need or hold all slots. Until they are done, no slot is added or removed.
    alone: u32,
    /// Number of slots to remove once their cases are done.
    leaving: u32,
}

#[derive(Debug)]
pub(super) struct Seat<'a> {
    of: &'a Seats,
    permit: Option<SemaphorePermit<'a>>,
    alone: Option<Alone<'a>>,
}

impl Drop for Seat<'_> {
    fn drop(&mut self) {
        let mut counted = self.of.counted();
        if self.alone.is_none() && counted.leaving > 0 {
            counted.leaving -= 1;
            counted.all -= 1;
            self.permit.take().into_iter().for_each(SemaphorePermit::forget);
        }
    }
}

/// While a value of this type exists, no slot is added.
#[derive(Debug)]
struct Alone<'a>(&'a Seats);

impl Drop for Alone<'_> {
    fn drop(&mut self) {
        self.0.counted().alone -= 1;
    }
}

struct Waiting<'a>(&'a Seats);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.counted().waiting -= 1;
    }
}

impl Seats {
    pub(super) fn new(all: u32) -> Self {
        Self {
            free: Semaphore::new(all as usize),
            counted: Mutex::new(Counted { all, most: all, waiting: 0, alone: 0, leaving: 0 }),
        }
    }

    pub(super) async fn one(&self) -> Option<Seat<'_>> {
        self.take(1, None).await
    }

    pub(super) async fn all(&self) -> Option<Seat<'_>> {
        let all = {
            let mut counted = self.counted();
            counted.alone += 1;
            counted.leaving = 0;
            counted.all
        };
        self.take(all, Some(Alone(self))).await
    }

    /// Returns `None` only if the semaphore is closed, which never happens.
    async fn take<'a>(&'a self, seats: u32, alone: Option<Alone<'a>>) -> Option<Seat<'a>> {
        self.counted().waiting += 1;
        let waiting = Waiting(self);
        let permit = self.free.acquire_many(seats).await.ok()?;
        drop(waiting);
        Some(Seat { of: self, permit: Some(permit), alone })
    }

    pub(super) fn count(&self) -> u32 {
        self.counted().all
    }

    /// The maximum number of slots so far.
    pub(super) fn most(&self) -> u32 {
        self.counted().most
    }

    pub(super) fn is_wanted(&self) -> bool {
        self.counted().waiting > 0
    }

    /// Adds a slot if a case waits, up to `most`, unless a case holds or needs all of them. Returns whether
    /// it did.
    pub(super) fn add(&self, most: u32) -> bool {
        let mut counted = self.counted();
        let is_added = counted.waiting > 0 && counted.alone == 0 && counted.all - counted.leaving < most;
        match (is_added, counted.leaving) {
            (true, 0) => {
                counted.all += 1;
                counted.most = counted.most.max(counted.all);
                self.free.add_permits(1);
            }
            (true, _) => counted.leaving -= 1,
            (false, _) => {}
        }
        is_added
    }

    /// Removes a slot once a case is done, down to `least`, unless a case needs all of them.
    pub(super) fn remove(&self, least: u32) {
        let mut counted = self.counted();
        if counted.alone == 0 && counted.all - counted.leaving > least {
            counted.leaving += 1;
        }
    }

    fn counted(&self) -> MutexGuard<'_, Counted> {
        self.counted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use futures::poll;

    use super::*;

    #[tokio::test]
    async fn seats_are_added_up_to_a_number_and_to_nobody_who_is_alone() {
        let seats = Seats::new(1);
        let first = seats.one().await.unwrap();
        assert!(!seats.add(2), "nobody waits");
        let mut second = Box::pin(seats.one());
        assert!(poll!(&mut second).is_pending());
        assert!(seats.add(2) && !seats.add(2));
        let second = second.await.unwrap();
        assert_eq!(seats.count(), 2);
        let mut alone = Box::pin(seats.all());
        assert!(poll!(&mut alone).is_pending());
        assert!(!seats.add(3));
        drop(first);
        assert!(poll!(&mut alone).is_pending(), "the second is still there");
        drop(second);
        let all = alone.await.unwrap();
        let mut third = Box::pin(seats.one());
        assert!(poll!(&mut third).is_pending() && !seats.add(3));
        drop(all);
        assert!(poll!(&mut third).is_ready());
    }

    #[tokio::test]
    async fn who_gives_up_is_not_alone_any_more() {
        let seats = Seats::new(1);
        let first = seats.one().await.unwrap();
        let mut alone = Box::pin(seats.all());
        assert!(poll!(&mut alone).is_pending());
        drop(alone);
        assert!(!seats.is_wanted());
        let mut second = Box::pin(seats.one());
        assert!(poll!(&mut second).is_pending() && seats.add(2));
        assert!(poll!(&mut second).is_ready());
        drop(first);
    }

    #[tokio::test]
    async fn seats_go_when_who_has_them_is_done() {
        let seats = Seats::new(3);
        let (first, second) = (seats.one().await.unwrap(), seats.one().await.unwrap());
        let third = seats.one().await.unwrap();
        (0..3).for_each(|_| seats.remove(1));
        let mut fourth = Box::pin(seats.one());
        assert!(poll!(&mut fourth).is_pending());
        drop(first);
        assert!((seats.count(), poll!(&mut fourth).is_pending()) == (2, true));
        assert!(seats.add(3), "the one that was to go next stays");
        assert_eq!(seats.count(), 2);
        drop(second);
        assert!(poll!(&mut fourth).is_ready());
        seats.remove(1);
        let mut alone = Box::pin(seats.all());
        assert!(poll!(&mut alone).is_pending(), "the third is still there");
        drop(third);
        assert!(poll!(&mut alone).is_ready());
    }
}
