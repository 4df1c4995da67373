//! Several threads that decode at once: what the machine does beside what a core does.

use std::{
    io,
    sync::RwLock,
    thread,
    time::{Duration, Instant},
};

use bytes::Bytes;

use super::{decoding, measure::Subject, message::Message, rows::Taken};

/// `threads` of them, each with a copy of the message in memory of its own: else the reference
/// counts of the chunks would wander from core to core.
pub(super) fn subject(threads: u16, message: &Message) -> Subject<'_> {
    let copies: Vec<_> = (0..threads).map(|_| message.copied_chunks()).collect();
    Subject::new(move |times| at_once(message, &copies, times))
}

/// From when the first thread starts until the last is done, each with `times` messages.
///
/// This thread is one of them: were it to wait, the others would have to find its core first.
fn at_once(message: &Message, copies: &[Vec<Bytes>], times: u64) -> io::Result<Duration> {
    let work = |chunks: &[Bytes]| {
        let start = Instant::now();
        for _ in 0..times {
            decoding::decoder(&message.content_type, message.config, chunks, &mut Taken)?;
        }
        Ok((start, Instant::now()))
    };
    // Closed until all threads are there; a thread that cannot be had opens it, too.
    let gate = RwLock::new(());
    let Some((own, others)) = copies.split_first() else { return Ok(Duration::ZERO) };
    let (work, gate) = (&work, &gate);
    let ends: Vec<(Instant, Instant)> = thread::scope(|scope| {
        let closed = gate.write();
        let mut running = Vec::new();
        for chunks in others {
            let wait_and_work = move || {
                drop(gate.read());
                work(chunks)
            };
            running.push(thread::Builder::new().spawn_scoped(scope, wait_and_work)?);
        }
        drop(closed);
        let own = work(own);
        let dead = |_| io::Error::other("a thread has panicked");
        let others = running.into_iter().map(|thread| thread.join().map_err(dead)?);
        others.chain([own]).collect::<io::Result<_>>()
    })?;
    let first = ends.iter().map(|(start, _)| *start).min();
    let last = ends.iter().map(|(_, end)| *end).max();
    Ok(first.zip(last).map_or(Duration::ZERO, |(first, last)| last - first))
}
