// Single frames over a stream, for conversations that are short and in turns: the first words of a link, and joining.
// The caller sees to deadlines.
#pragma once

#include "mesh/link/frame.h"
#include "mesh/net/stream.h"

namespace corral::mesh {

// The next one. `reader` keeps what came behind it. Errors: link_closed; too_large, also for a peer that sends kinds
// which this version doesn't know, and nothing else.
async::Task<Result<Frame>> read_frame(Stream& stream, FrameReader& reader);
// Errors: link_closed, too_large.
async::Task<Result<>> write_frame(Stream& stream, Frame frame);
// Announces the end and reads until the peer's: a socket that is closed with something unread takes back what it sent
// last.
async::Task<bool> finish_politely(Stream& stream);

}  // namespace corral::mesh
