#include "mesh/link/frame_stream.h"

#include <array>

#include <fmt/format.h>

#include "mesh/identity/errors.h"

namespace corral::mesh {

using async::Task;

Task<Result<Frame>> read_frame(Stream& stream, FrameReader& reader) {
  std::array<char, 4096> space;
  std::size_t seen = 0;
  while (!reader.has_frame()) {
    if (seen > 2 * kLargestPage)
      co_return fail(errc::too_large,
                     fmt::format("peer sent {} bytes without a known frame (max {})", seen, 2 * kLargestPage));
    const auto got = co_await stream.read_some(space);
    if (!got) co_return std::unexpected(got.error());
    if (*got == 0) co_return fail(errc::link_closed, "the peer ended the connection");
    seen += *got;
    if (auto put = reader.put({space.data(), *got}); !put) co_return std::unexpected(put.error());
  }
  co_return reader.take();
}

Task<Result<>> write_frame(Stream& stream, Frame frame) {
  if (frame.payload.size() > max_bytes(frame.kind)) {
    co_return fail(errc::too_large,
                   fmt::format("a frame has {} bytes (max {})", frame.payload.size(), max_bytes(frame.kind)));
  }
  const auto bytes = encode(frame);
  auto written = co_await stream.write(bytes);
  co_return written;
}

Task<bool> finish_politely(Stream& stream) {
  co_await stream.finish();
  std::array<char, 4096> space;
  while (true) {
    const auto got = co_await stream.read_some(space);
    if (!got || *got == 0) co_return true;
  }
}

}  // namespace corral::mesh
