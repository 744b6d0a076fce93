//! Zstandard by the C library, read as zstd-jni reads it: frame after frame, and nothing but frames.

use std::cell::RefCell;

use zstd::zstd_safe::{self, CCtx, CParameter, DCtx, DParameter, InBuffer, OutBuffer, ResetDirective};

use super::Decompress;
use crate::error::{Error, Result};

/// Largest window, as a power of two, that Kafka's reader takes: 128 MiB.
const MAX_WINDOW_LOG: u32 = 27;
/// A context that grew above this is not kept for the next batch.
const KEEP: usize = 8 << 20;
/// What a frame header may make us reserve per byte of input before anything came out.
const TRUST: usize = 64;

thread_local! {
    static COMPRESS: RefCell<Option<CCtx<'static>>> = const { RefCell::new(None) };
    static DECOMPRESS: RefCell<Option<DCtx<'static>>> = const { RefCell::new(None) };
}

fn failed(code: usize) -> String {
    format!("zstd: {}", zstd_safe::get_error_name(code))
}

pub(super) fn compress(data: &[u8], level: i32, out: &mut Vec<u8>) -> Result<()> {
    COMPRESS.with_borrow_mut(|kept| {
        let mut context = match kept.take() {
            Some(context) => context,
            None => CCtx::try_create().ok_or_else(|| Error::invalid("zstd: no memory for a context"))?,
        };
        let invalid = |code| Error::invalid(failed(code));
        context.set_parameter(CParameter::CompressionLevel(level)).map_err(invalid)?;
        let start = out.len();
        out.reserve(zstd_safe::compress_bound(data.len()));
        let mut buffer = OutBuffer::around_pos(out, start);
        let mut input = InBuffer::around(data);
        let left = context
            .compress_stream2(&mut buffer, &mut input, zstd_safe::zstd_sys::ZSTD_EndDirective::ZSTD_e_end)
            .map_err(invalid)?;
        if left != 0 {
            return Err(Error::invalid("zstd: output above its own bound"));
        }
        if context.sizeof() <= KEEP && context.reset(ResetDirective::SessionOnly).is_ok() {
            *kept = Some(context);
        }
        Ok(())
    })
}

pub(super) fn decompress(data: &[u8], out: &mut Vec<u8>, how: &Decompress) -> Result<()> {
    DECOMPRESS.with_borrow_mut(|kept| {
        let mut context = match kept.take() {
            Some(context) => context,
            None => DCtx::try_create().ok_or_else(|| Error::invalid("zstd: no memory for a context"))?,
        };
        let result = frames(&mut context, data, out, how);
        if context.sizeof() <= KEEP && context.reset(ResetDirective::SessionOnly).is_ok() {
            *kept = Some(context);
        }
        result
    })
}

fn frames(context: &mut DCtx<'_>, data: &[u8], out: &mut Vec<u8>, how: &Decompress) -> Result<()> {
    let malformed = |pos| move |code| Error::malformed(pos, failed(code));
    context.set_parameter(DParameter::WindowLogMax(MAX_WINDOW_LOG)).map_err(malformed(0))?;
    if let Ok(Some(size)) = zstd_safe::get_frame_content_size(data) {
        // With room for the whole frame the library decodes in place and needs no window of its own.
        let size = usize::try_from(size).unwrap_or(usize::MAX).min(data.len().saturating_mul(TRUST));
        out.reserve_exact(size.min(how.limit.saturating_add(1)));
    }
    let mut input = InBuffer::around(data);
    let mut frame = 0;
    let mut open = false;
    loop {
        if input.pos == data.len() {
            let done = !open || skippable(&data[frame..]);
            return if done { Ok(()) } else { Err(Error::malformed(data.len(), "zstd data cut off")) };
        }
        // Runs until the input is used up or the frame ends; the output grows as it fills.
        loop {
            how.grow(out, 16 * 1024);
            let start = out.len();
            let before = input.pos;
            let mut buffer = OutBuffer::around_pos(out, start);
            let hint = context.decompress_stream(&mut buffer, &mut input).map_err(malformed(before))?;
            if out.len() > how.limit {
                return Err(how.exceeded());
            }
            open = hint != 0;
            if !open {
                frame = input.pos;
                break;
            }
            if input.pos == data.len() && out.len() < out.capacity() {
                break;
            }
        }
    }
}

/// Whether a frame that is cut off is one that has nothing to say.
fn skippable(frame: &[u8]) -> bool {
    frame.len() >= 8 && frame[0] & 0xf0 == 0x50 && frame[1..4] == [0x2a, 0x4d, 0x18]
}
