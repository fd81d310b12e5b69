use parking_lot::{Mutex, MutexGuard};
use tokio::sync::{Semaphore, SemaphorePermit};

/// Limits how many cases run on a cluster at once. A case holds one seat or all, granted in order of request.
#[derive(Debug)]
pub(super) struct Seats {
    free: Semaphore,
    /// Never held across an await.
    counts: Mutex<Counts>,
}

#[derive(Debug)]
struct Counts {
    all: u32,
    most: u32,
    waiting: u32,
    /// The cases that wait for all seats or hold them. Meanwhile, no seat is added or removed.
    exclusive: u32,
    /// The number of seats that are removed when their cases end.
    leaving: u32,
}

#[derive(Debug)]
pub(super) struct Seat<'a> {
    seats: &'a Seats,
    permit: Option<SemaphorePermit<'a>>,
    exclusive: Option<Exclusive<'a>>,
}

impl Drop for Seat<'_> {
    fn drop(&mut self) {
        let mut counts = self.seats.counts();
        if self.exclusive.is_none() && counts.leaving > 0 {
            counts.leaving -= 1;
            counts.all -= 1;
            self.permit.take().into_iter().for_each(SemaphorePermit::forget);
        }
    }
}

/// Counts a case in [`Counts::exclusive`] until it is dropped.
#[derive(Debug)]
struct Exclusive<'a>(&'a Seats);

impl Drop for Exclusive<'_> {
    fn drop(&mut self) {
        self.0.counts().exclusive -= 1;
    }
}

struct Waiting<'a>(&'a Seats);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.counts().waiting -= 1;
    }
}

impl Seats {
    pub(super) fn new(all: u32) -> Self {
        Self {
            free: Semaphore::new(all as usize),
            counts: Mutex::new(Counts { all, most: all, waiting: 0, exclusive: 0, leaving: 0 }),
        }
    }

    pub(super) async fn one(&self) -> Option<Seat<'_>> {
        self.take(1, None).await
    }

    pub(super) async fn all(&self) -> Option<Seat<'_>> {
        let all = {
            let mut counts = self.counts();
            counts.exclusive += 1;
            counts.leaving = 0;
            counts.all
        };
        self.take(all, Some(Exclusive(self))).await
    }

    /// Returns a seat if one is free and no case waits.
    pub(super) fn unwanted(&self) -> Option<Seat<'_>> {
        if self.is_wanted() {
            return None;
        }
        let permit = self.free.try_acquire().ok()?;
        Some(Seat { seats: self, permit: Some(permit), exclusive: None })
    }

    /// Returns `None` only if the semaphore is closed, which never happens.
    async fn take<'a>(&'a self, count: u32, exclusive: Option<Exclusive<'a>>) -> Option<Seat<'a>> {
        self.counts().waiting += 1;
        let waiting = Waiting(self);
        let permit = self.free.acquire_many(count).await.ok()?;
        drop(waiting);
        Some(Seat { seats: self, permit: Some(permit), exclusive })
    }

    pub(super) fn count(&self) -> u32 {
        self.counts().all
    }

    pub(super) fn most(&self) -> u32 {
        self.counts().most
    }

    pub(super) fn is_wanted(&self) -> bool {
        self.counts().waiting > 0
    }

    /// Adds a seat if a case waits, none needs or holds all seats, and there are fewer than `most`.
    pub(super) fn add(&self, most: u32) -> bool {
        let mut counts = self.counts();
        let is_added = counts.waiting > 0 && counts.exclusive == 0 && counts.all - counts.leaving < most;
        match (is_added, counts.leaving) {
            (true, 0) => {
                counts.all += 1;
                counts.most = counts.most.max(counts.all);
                self.free.add_permits(1);
            }
            (true, _) => counts.leaving -= 1,
            (false, _) => {}
        }
        is_added
    }

    /// Marks one seat for removal when its case ends. Does nothing while a case needs all seats.
    pub(super) fn remove(&self, least: u32) {
        let mut counts = self.counts();
        if counts.exclusive == 0 && counts.all - counts.leaving > least {
            counts.leaving += 1;
        }
    }

    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock()
    }
}

#[cfg(test)]
mod tests {
    use futures::poll;

    use super::*;

    #[tokio::test]
    async fn seats_are_added_up_to_a_maximum_and_never_during_an_exclusive_case() {
        let seats = Seats::new(1);
        let first = seats.one().await.unwrap();
        assert!(!seats.add(2), "no case waits");
        let mut second = Box::pin(seats.one());
        assert!(poll!(&mut second).is_pending());
        assert!(seats.add(2) && !seats.add(2));
        let second = second.await.unwrap();
        assert_eq!(seats.count(), 2);
        let mut all = Box::pin(seats.all());
        assert!(poll!(&mut all).is_pending());
        assert!(!seats.add(3));
        drop(first);
        assert!(poll!(&mut all).is_pending(), "the second case still runs");
        drop(second);
        let all = all.await.unwrap();
        let mut third = Box::pin(seats.one());
        assert!(poll!(&mut third).is_pending() && !seats.add(3));
        drop(all);
        assert!(poll!(&mut third).is_ready());
    }

    #[tokio::test]
    async fn a_cancelled_wait_for_all_seats_blocks_nothing() {
        let seats = Seats::new(1);
        let first = seats.one().await.unwrap();
        let mut all = Box::pin(seats.all());
        assert!(poll!(&mut all).is_pending());
        drop(all);
        assert!(!seats.is_wanted());
        let mut second = Box::pin(seats.one());
        assert!(poll!(&mut second).is_pending() && seats.add(2));
        assert!(poll!(&mut second).is_ready());
        drop(first);
    }

    #[tokio::test]
    async fn a_seat_is_unwanted_only_if_no_case_holds_it_or_waits_for_it() {
        let seats = Seats::new(1);
        assert!(seats.unwanted().is_some());
        let first = seats.one().await.unwrap();
        assert!(seats.unwanted().is_none());
        let mut second = Box::pin(seats.one());
        assert!(poll!(&mut second).is_pending());
        drop(first);
        assert!(seats.unwanted().is_none(), "the second case waits");
        drop(second);
        let unwanted = seats.unwanted().unwrap();
        let mut third = Box::pin(seats.one());
        assert!(poll!(&mut third).is_pending());
        drop(unwanted);
        assert!(poll!(&mut third).is_ready());
    }

    #[tokio::test]
    async fn a_removed_seat_is_free_until_its_case_ends() {
        let seats = Seats::new(3);
        let (first, second) = (seats.one().await.unwrap(), seats.one().await.unwrap());
        let third = seats.one().await.unwrap();
        (0..3).for_each(|_| seats.remove(1));
        let mut fourth = Box::pin(seats.one());
        assert!(poll!(&mut fourth).is_pending());
        drop(first);
        assert!((seats.count(), poll!(&mut fourth).is_pending()) == (2, true));
        assert!(seats.add(3), "the seat that was to be removed stays");
        assert_eq!(seats.count(), 2);
        drop(second);
        assert!(poll!(&mut fourth).is_ready());
        seats.remove(1);
        let mut all = Box::pin(seats.all());
        assert!(poll!(&mut all).is_pending(), "the third case still runs");
        drop(third);
        assert!(poll!(&mut all).is_ready());
    }
}
