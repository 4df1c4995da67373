//! Other parsers of multipart/form-data. They read the parts, and know nothing of a control
//! document, so that [`parser`](super::ours::parser) is what they are compared with.

use std::{convert::Infallible, io, pin::pin};

use futures_util::{StreamExt as _, TryStreamExt as _};
use multer::Multipart;
use multipart_async_stream::{LendingIterator as _, MultipartStream};
use multiparty::server::owned_futures03::FormData;

use crate::workload::{
    BOUNDARY, Input, Outcome,
    arrival::{Paced, block_on},
    sink::Sink,
};

pub(crate) fn multer(input: &Input, sink: &mut Sink) -> Outcome {
    block_on(input, async {
        let mut parts = Multipart::new(Paced::<Infallible>::new(input), BOUNDARY);
        while let Some(mut part) = parts.next_field().await? {
            let media_type = part.content_type().map(|media_type| media_type.as_ref().as_bytes());
            let name = part.name().unwrap_or_default().as_bytes();
            sink.part(name, media_type.unwrap_or_default());
            while let Some(data) = part.chunk().await? {
                sink.body(&data);
            }
        }
        Ok(())
    })
}

pub(crate) fn multiparty(input: &Input, sink: &mut Sink) -> Outcome {
    block_on(input, async {
        let mut parts = FormData::new(Paced::<io::Error>::new(input), BOUNDARY);
        while let Some(mut part) = parts.try_next().await? {
            let head = part.raw_headers().parse()?;
            let media_type = head.content_type.as_deref().unwrap_or_default();
            sink.part(head.name.as_bytes(), media_type.as_bytes());
            while let Some(data) = part.next().await {
                sink.body(&data?);
            }
        }
        Ok(())
    })
}

pub(crate) fn multipart_async_stream(input: &Input, sink: &mut Sink) -> Outcome {
    block_on(input, async {
        let body = Paced::<Infallible>::new(input);
        let mut parts = MultipartStream::new(body, BOUNDARY.as_bytes());
        while let Some(part) = parts.next().await {
            let part = part?;
            let value = |name| part.headers().get(name).map(|value| value.as_bytes());
            let name = value("content-disposition").and_then(disposition_name);
            sink.part(name.unwrap_or_default(), value("content-type").unwrap_or_default());
            let mut body = pin!(part.body());
            while let Some(data) = body.try_next().await? {
                sink.body(&data);
            }
        }
        Ok(())
    })
}

/// The name in a Content-Disposition value, for the peer that gives values only. Enough for the
/// workloads' heads, and less work than a parser's.
fn disposition_name(value: &[u8]) -> Option<&[u8]> {
    let (_, rest) = value.split_at_checked(b"form-data; name=\"".len())?;
    rest.split(|&byte| byte == b'"').next()
}
