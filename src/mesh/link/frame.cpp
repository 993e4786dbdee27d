#include "mesh/link/frame.h"

#include <array>

#include <fmt/format.h>

#include "mesh/identity/bytes.h"
#include "mesh/identity/errors.h"

namespace corral::mesh {
namespace {

struct Bound {
  FrameKind kind;
  std::size_t bytes;
};
constexpr std::array kBounds = {
    Bound{FrameKind::hello, 1024},          Bound{FrameKind::heartbeat, 4096},
    Bound{FrameKind::close, 512},           Bound{FrameKind::members, kLargestPage},
    Bound{FrameKind::join_ask, 512},        Bound{FrameKind::join_proved, 64},
    Bound{FrameKind::join_admitted, 64},    Bound{FrameKind::join_refused, 512},
    Bound{FrameKind::heads, kLargestPage},  Bound{FrameKind::pages, kLargestPage},
    Bound{FrameKind::ask_pages, 16 * 1024}, Bound{FrameKind::peer_exchange, kLargestPage},
    Bound{FrameKind::dial_me, 64},          Bound{FrameKind::probe_ask, 512},
    Bound{FrameKind::probe_answer, 512},    Bound{FrameKind::grant, 256},
    Bound{FrameKind::allot_ask, 4096},      Bound{FrameKind::allot_answer, 1024},
};

const Bound* bound_of(FrameKind kind) {
  for (const auto& bound : kBounds) {
    if (bound.kind == kind) return &bound;
  }
  return nullptr;
}

}  // namespace

std::size_t max_bytes(FrameKind kind) {
  const auto* bound = bound_of(kind);
  return bound ? bound->bytes : kLargestPage;
}

bool is_known(FrameKind kind) { return bound_of(kind) != nullptr; }

std::string encode(const Frame& frame) {
  std::string bytes;
  ByteWriter(bytes).number<std::uint8_t>(static_cast<std::uint8_t>(frame.kind)).sized<std::uint32_t>(frame.payload);
  return bytes;
}

Result<> FrameReader::put(std::string_view bytes) {
  rest_.append(bytes);
  std::string_view open = rest_;
  while (open.size() >= kFrameHead) {
    ByteReader head(open);
    const auto kind = static_cast<FrameKind>(head.number<std::uint8_t>());
    const auto length = head.number<std::uint32_t>();
    if (length > max_bytes(kind)) {
      return fail(errc::too_large, fmt::format("a frame of kind {} has {} bytes (max {})", static_cast<unsigned>(kind),
                                               length, max_bytes(kind)));
    }
    if (open.size() < kFrameHead + length) break;
    if (is_known(kind)) frames_.push_back({kind, std::string(open.substr(kFrameHead, length))});
    open.remove_prefix(kFrameHead + length);
  }
  rest_.erase(0, rest_.size() - open.size());
  return {};
}

Frame FrameReader::take() {
  auto frame = std::move(frames_.front());
  frames_.pop_front();
  return frame;
}

}  // namespace corral::mesh
