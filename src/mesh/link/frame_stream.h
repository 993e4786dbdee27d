// Single frames over a stream, for short exchanges in turns: the begin of a link, and joining. The caller sets
// deadlines.
#pragma once

#include "mesh/link/frame.h"
#include "mesh/net/stream.h"

namespace corral::mesh {

// The next frame. `reader` keeps the bytes behind it. Errors: link_closed; too_large, also for a peer that sends only
// unknown kinds.
async::Task<Result<Frame>> read_frame(Stream& stream, FrameReader& reader);
// Errors: link_closed, too_large.
async::Task<Result<>> write_frame(Stream& stream, Frame frame);
// Announces the end and reads until the peer's end: closing a socket with unread bytes may discard the last sent bytes.
async::Task<bool> finish_politely(Stream& stream);

}  // namespace corral::mesh
