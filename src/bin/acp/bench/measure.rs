//! Measuring: every subject once a round, so that what disturbs the machine disturbs all of them.

use std::{io, time::Duration};

use indicatif::{ProgressBar, ProgressStyle};

use super::random::Random;

/// How long measuring takes where no number of rounds is given.
const BUDGET: Duration = Duration::from_secs(30);

/// The fewest rounds of which a median is taken without being asked for.
const MIN_ROUNDS: u32 = 5;

/// How much is measured.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) rounds: Option<u32>,
    /// How long a subject is measured in each round, at least.
    pub(super) sample: Duration,
}

/// Does its work so many times, and says how long that took.
type Job<'a> = Box<dyn FnMut(u64) -> io::Result<Duration> + 'a>;

/// Something that is measured.
pub(super) struct Subject<'a> {
    job: Job<'a>,
    /// How often it does its work in one sample.
    times: u64,
    /// Nanoseconds for its work once, in each round.
    nanos: Vec<f64>,
}

impl<'a> Subject<'a> {
    pub(super) fn new(job: impl FnMut(u64) -> io::Result<Duration> + 'a) -> Self {
        Self { job: Box::new(job), times: 1, nanos: Vec::new() }
    }

    /// Finds how much work makes a sample of that length, and gives the length it has.
    fn calibrate(&mut self, sample: Duration) -> io::Result<Duration> {
        // The first time, memory and caches are cold.
        (self.job)(1)?;
        loop {
            let took = (self.job)(self.times)?;
            if took >= sample {
                return Ok(took);
            }
            // A tenth more than seems to do; ten times as much where that cannot be told yet.
            let factor = sample.as_secs_f64() / took.as_secs_f64().max(1e-9) * 1.1;
            self.times = (self.times as f64 * factor.min(10.0)).ceil() as u64;
        }
    }

    fn measure(&mut self) -> io::Result<()> {
        let took = (self.job)(self.times)?;
        self.nanos.push(took.as_secs_f64() * 1e9 / self.times as f64);
        Ok(())
    }
}

/// Nanoseconds that each subject took for its work, in each round.
pub(super) fn measure(mut subjects: Vec<Subject<'_>>, plan: &Plan) -> io::Result<Vec<Vec<f64>>> {
    let mut round = Duration::ZERO;
    for subject in &mut subjects {
        round += subject.calibrate(plan.sample)?;
    }
    let fitting = || (BUDGET.as_secs_f64() / round.as_secs_f64().max(1e-9)) as u32;
    let rounds = plan.rounds.unwrap_or_else(|| fitting().max(MIN_ROUNDS));
    let progress = progress(rounds);
    let mut order: Vec<usize> = (0..subjects.len()).collect();
    let mut random = Random::new(2);
    for _ in 0..rounds {
        random.shuffle(&mut order);
        for &next in &order {
            subjects[next].measure()?;
        }
        progress.inc(1);
    }
    progress.finish_and_clear();
    Ok(subjects.into_iter().map(|subject| subject.nanos).collect())
}

/// A bar on a terminal. Nothing moves it but the rounds: a thread that does would be measured.
fn progress(rounds: u32) -> ProgressBar {
    let bar = ProgressBar::new(rounds.into());
    if let Ok(style) = ProgressStyle::with_template("{bar:30} round {pos} of {len}, {eta} left") {
        bar.set_style(style);
    }
    bar
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    #[test]
    fn short_work_is_repeated_until_a_sample_is_long_enough() {
        let subjects = [1, 1000, 50_000].map(|nanos| {
            Subject::new(move |times| {
                Ok(Duration::from_nanos(nanos) * u32::try_from(times).unwrap())
            })
        });
        let plan = Plan { rounds: Some(3), sample: Duration::from_micros(10) };
        for mut subject in subjects {
            let took = subject.calibrate(plan.sample).unwrap();
            assert!((plan.sample..plan.sample * 6).contains(&took), "{took:?}");
        }
    }

    #[test]
    fn every_round_measures_every_subject_once_in_an_order_of_its_own() {
        let log = RefCell::new(Vec::new());
        let subject = |name| {
            let log = &log;
            Subject::new(move |_| {
                log.borrow_mut().push(name);
                Ok(Duration::from_nanos(name))
            })
        };
        let subjects = (1..=4).map(subject).collect();
        let plan = Plan { rounds: Some(40), sample: Duration::ZERO };
        let nanos = measure(subjects, &plan).unwrap();
        for (name, nanos) in (1..).zip(nanos) {
            assert_eq!(nanos, vec![f64::from(name); 40]);
        }
        // Before, each is run twice to see how long it takes.
        let log = log.into_inner();
        let rounds: Vec<_> = log[8..].chunks(4).collect();
        assert!(rounds.iter().all(|round| (1..=4).all(|name| round.contains(&name))));
        assert!(rounds.iter().any(|round| round != &rounds[0]));
    }
}
