//! Bodies are handed out as views of the chunks they came in. What is not a view is the beginning of
//! a false delimiter that a chunk's end has cut (the parser's own delimiter stands for it), and a
//! header block that a chunk's end has cut (ACP-FRM-3, ACP-FRM-7). The encoder hands content on as it
//! got it (ACP-ENC-6).

mod fixture;

use acp_envelope::{
    Config, Control, EnvelopeBuilder, EnvelopeDecoder, Item, Limits, NewPart, Status, decode,
    parser::{Event, Input, Parser},
    syntax::Boundary,
};
use bytes::{Bytes, BytesMut};
use fixture::{MULTIPART, message_of};

const BOUNDARY: &str = "long-boundary";
const DELIMITER: &str = "\r\n--long-boundary";

/// A message whose only content part has this body, with a boundary that is worth cutting.
fn long(body: &str) -> Bytes {
    let message = message_of(&[("p", body)]);
    Bytes::from(
        message
            .replace("--b\r\n", &format!("--{BOUNDARY}\r\n"))
            .replace("--b--", &format!("--{BOUNDARY}--")),
    )
}

fn is_view(data: &[u8], chunk: &[u8]) -> bool {
    let (data, chunk) = (data.as_ptr_range(), chunk.as_ptr_range());
    chunk.start <= data.start && data.end <= chunk.end
}

/// The pieces of all bodies, from a message that arrives in `chunks`.
fn pieces<I: Input>(content_type: &str, chunks: Vec<I>) -> Vec<Bytes> {
    let mut decoder = EnvelopeDecoder::new(content_type, Config::new()).unwrap();
    let mut chunks = chunks.into_iter();
    let (mut input, mut pieces) = (chunks.next().unwrap(), Vec::new());
    loop {
        match decoder.next_item(&mut input).unwrap() {
            Status::Item(Item::Data(data)) => pieces.push(data),
            Status::NeedInput => match chunks.next() {
                Some(chunk) => input = chunk,
                None => decoder.finish(),
            },
            Status::End => return pieces,
            _ => {}
        }
    }
}

fn long_type() -> String {
    format!("multipart/form-data; boundary={BOUNDARY}")
}

#[test]
fn a_body_inside_one_chunk_is_one_view_of_it_acp_frm_3() {
    for body in ["x".repeat(5000), "near\r\n--lon\r\r\n--\r\n".to_owned(), "\r\n".to_owned()] {
        let message = long(&body);
        let out = pieces(&long_type(), vec![message.clone()]);
        assert_eq!(out, [&body]);
        assert!(is_view(&out[0], &message));

        let buffer = BytesMut::from(&message[..]);
        let chunk = buffer.as_ptr_range();
        let out = pieces(&long_type(), vec![buffer]);
        assert_eq!(out, [&body]);
        let data = out[0].as_ptr_range();
        assert!(chunk.start <= data.start && data.end <= chunk.end);
    }
}

#[test]
fn each_piece_of_a_body_is_a_view_of_its_chunk_acp_frm_3() {
    let body: String = ('a'..='z').cycle().take(900).collect();
    let message = long(&body);
    for size in [1, 7, 100, 899] {
        let chunks: Vec<_> = message.chunks(size).map(Bytes::copy_from_slice).collect();
        let out = pieces(&long_type(), chunks.clone());
        assert_eq!(out.concat(), body.as_bytes());
        for piece in &out {
            assert!(chunks.iter().any(|chunk| is_view(piece, chunk)), "{size}: {piece:?}");
        }
        assert!(out.len() <= body.len().div_ceil(size) + 1, "{size}: {} pieces", out.len());
    }
}

/// Feeds `message` in two separate buffers, cut at `cut`: what comes out, and how much of that is
/// no view of them.
fn cut_in_two(message: &Bytes, cut: usize) -> (Vec<u8>, usize) {
    let chunks = [&message[..cut], &message[cut..]].map(Bytes::copy_from_slice);
    let out = pieces(&long_type(), chunks.to_vec());
    let own = out.iter().filter(|piece| !chunks.iter().any(|chunk| is_view(piece, chunk)));
    let own: Vec<_> = own.collect();
    for piece in &own {
        assert!(DELIMITER.as_bytes().starts_with(piece), "cut at {cut}: {piece:?}");
    }
    (out.concat(), own.iter().map(|piece| piece.len()).sum())
}

#[test]
fn a_delimiter_cut_anywhere_costs_no_copy_acp_frm_7() {
    let message = long("12345");
    for cut in 0..=message.len() {
        assert_eq!(cut_in_two(&message, cut), (b"12345".to_vec(), 0), "cut at {cut}");
    }
}

#[test]
fn a_false_delimiter_cut_anywhere_loses_nothing_and_copies_less_than_itself_acp_frm_7() {
    for near in 1..DELIMITER.len() {
        let body = format!("1234{}!5678", &DELIMITER[..near]);
        let message = long(&body);
        let at = message.len() - format!("{body}{DELIMITER}--\r\n").len() + 4;
        for cut in 0..=message.len() {
            let (out, own) = cut_in_two(&message, cut);
            assert_eq!(out, body.as_bytes(), "cut at {cut}");
            // Only what stands before the cut can no longer be handed out as a view.
            let held = if (at..=at + near).contains(&cut) { cut - at } else { 0 };
            assert_eq!(own, held, "{near} bytes of a delimiter at {at}, cut at {cut}");
            assert!(own < DELIMITER.len());
        }
    }
}

#[test]
fn a_false_delimiter_over_many_chunks_comes_out_of_the_parsers_own_acp_frm_7() {
    let body = "x\r\n--long-bounda\r\n--long-bound!";
    let message = long(body);
    let chunks: Vec<_> = message.iter().map(|b| Bytes::copy_from_slice(&[*b])).collect();
    let out = pieces(&long_type(), chunks.clone());
    assert_eq!(out, ["x", "\r\n--long-bounda", "\r\n--long-bound", "!"]);
    let views: Vec<_> =
        out.iter().map(|piece| chunks.iter().any(|chunk| is_view(piece, chunk))).collect();
    assert_eq!(views, [true, false, false, true]);
}

#[test]
fn a_decoded_envelope_is_made_of_views_acp_frm_3() {
    let body = Bytes::from(message_of(&[("p", "first\r\n--"), ("q", ""), ("r", "third")]));
    let envelope = decode(MULTIPART, body.clone()).unwrap();
    assert!(is_view(envelope.control().raw(), &body));
    for part in envelope.parts() {
        assert!(part.body().is_empty() || is_view(part.body(), &body), "{}", part.head().name());
        let media_type = part.head().media_type().as_bytes();
        assert!(is_view(media_type, &body));
        let filename = part.head().fields().next().unwrap().value;
        assert!(body.as_ptr_range().contains(&filename.as_ptr()));
    }
    let json = Bytes::from_static(b" {\"a\":1} ");
    let envelope = decode(fixture::JSON, json.clone()).unwrap();
    assert!(is_view(envelope.control().raw(), &json));
    assert!(json.as_ptr_range().contains(&envelope.control().text().as_ptr()));
}

/// Parses up to the body of the first part, and gives what was allocated meanwhile.
fn head_allocations(chunks: &[Bytes]) -> allocation_counter::AllocationInfo {
    let mut parser = Parser::new(&Boundary::new(b"b").unwrap(), Limits::new());
    let mut head = None;
    let allocated = allocation_counter::measure(|| {
        for chunk in chunks {
            let mut input = chunk.clone();
            if let Status::Item(Event::PartStart(start)) = parser.next_event(&mut input).unwrap() {
                head = Some(start);
                break;
            }
        }
    });
    assert_eq!(head.expect("the header block is complete").fields().count(), 2);
    allocated
}

#[test]
fn a_header_block_is_copied_only_where_a_chunk_ends_in_it_acp_frm_7() {
    let start = "--b\r\n".len();
    let block =
        format!("Content-Disposition: form-data; name=p\r\nX: {}\r\n\r\n", "x".repeat(7000));
    let message = Bytes::from(format!("--b\r\n{block}body\r\n--b--"));
    drop(message.clone());
    assert_eq!(head_allocations(std::slice::from_ref(&message)).bytes_total, 0);
    // A buffer that grows by doubling, beside its old self while it does.
    let len = block.len() as u64;
    let (kept, peak, slack) = (2 * len, 3 * len, 256);
    for cut in [start + 1, start + 40, start + 3500, start + block.len() - 1] {
        let allocated = head_allocations(&[message.slice(..cut), message.slice(cut..)]);
        assert!(allocated.count_total <= 3, "cut at {cut}: {allocated:?}");
        assert!(allocated.bytes_current as u64 <= kept + slack, "cut at {cut}: {allocated:?}");
        assert!(allocated.bytes_max <= peak + slack, "cut at {cut}: {allocated:?}");
    }
    for cut in [1, 3, start] {
        let allocated = head_allocations(&[message.slice(..cut), message.slice(cut..)]);
        assert_eq!(allocated.bytes_total, 0, "cut at {cut}, before the block");
    }
    let bytewise: Vec<_> = (0..message.len()).map(|i| message.slice(i..=i)).collect();
    let allocated = head_allocations(&bytewise);
    assert!(allocated.bytes_max <= peak + slack, "{allocated:?}");
    assert!(allocated.bytes_total <= 4 * len + slack, "{allocated:?}");
}

#[test]
fn content_is_written_without_a_copy_acp_enc_6() {
    let content = Bytes::from(vec![b'\r'; 100 << 20]);
    let control = Control::from_text("{\"$ref\":\"p\"}").unwrap();
    let mut segments = Vec::new();
    let allocated = allocation_counter::measure(|| {
        let mut message = EnvelopeBuilder::new();
        message.add(NewPart::new("image/png", content.clone()).name("p")).unwrap();
        segments = message.build(&control).unwrap().into_segments().unwrap();
    });
    // The table of the search for the boundary is 4 KiB.
    assert!(allocated.bytes_total < 8192, "{allocated:?}");
    let [_, document, _, part, _] = &segments[..] else { panic!("{} segments", segments.len()) };
    assert_eq!((part.as_ptr(), part.len()), (content.as_ptr(), content.len()));
    assert_eq!(document.as_ptr(), control.raw().as_ptr());
}

#[test]
fn all_framing_is_one_allocation_acp_enc_6() {
    let mut message = EnvelopeBuilder::new();
    for _ in 0..64 {
        message.add(NewPart::new("image/png", "x")).unwrap();
    }
    let control = Control::from_text("[]").unwrap();
    let segments = message.build(&control).unwrap().into_segments().unwrap();
    let framing: Vec<_> = segments.iter().step_by(2).map(|s| s.as_ptr_range()).collect();
    assert_eq!(framing.len(), 66);
    assert!(framing.windows(2).all(|pair| pair[0].end == pair[1].start));
}

#[test]
fn what_was_received_is_sent_on_without_a_copy_acp_enc_6() {
    let message = long(&"x".repeat(1 << 20));
    let received = decode(long_type(), message.clone()).unwrap();
    let segments = EnvelopeBuilder::new().build_from(&received).unwrap().into_segments().unwrap();
    assert_eq!(segments.iter().filter(|segment| is_view(segment, &message)).count(), 2);
    assert_eq!(segments.iter().map(Bytes::len).max(), Some(1 << 20));
}

#[test]
fn streamed_content_is_written_without_a_copy_acp_enc_6() {
    let mut message = EnvelopeBuilder::new();
    let part = message.add(NewPart::streamed("image/png", None)).unwrap();
    let mut encoder = message.build(&Control::new(&part).unwrap()).unwrap();
    let chunk = Bytes::from(vec![b'x'; 1 << 16]);
    let mut content = Bytes::new();
    while encoder.next_segment(&mut content).unwrap() != Status::NeedInput {}
    content = chunk.clone();
    let Status::Item(segment) = encoder.next_segment(&mut content).unwrap() else { panic!() };
    assert_eq!((segment.as_ptr(), segment.len()), (chunk.as_ptr(), chunk.len()));
}
