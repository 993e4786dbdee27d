#include "simulation/mesh/later.h"

#include "mesh/identity/bytes.h"
#include "mesh/link/frame.h"
#include "simulation/mesh/wrapped.h"

namespace corral::mesh::simulation {
namespace {

using async::Task;

constexpr std::uint8_t kUnknownKind = 99;
constexpr std::size_t kMinorAt = 32;  // in a hello
constexpr std::string_view kMore = "what a later version says";

// What is written to a link, with more in it. Frames may be cut anywhere.
class Embroiderer {
 public:
  std::string embroider(std::string_view bytes) {
    rest_.append(bytes);
    std::string out;
    while (rest_.size() >= kFrameHead) {
      ByteReader head(rest_);
      const auto kind = head.number<std::uint8_t>();
      const auto length = head.number<std::uint32_t>();
      if (rest_.size() < kFrameHead + length) break;
      auto payload = rest_.substr(kFrameHead, length);
      rest_.erase(0, kFrameHead + length);
      const auto known = static_cast<FrameKind>(kind);
      if (known == FrameKind::hello && payload.size() > kMinorAt + 1) {
        payload[kMinorAt] = 0;
        payload[kMinorAt + 1] = static_cast<char>(kLaterMinor);
      }
      const bool grows =
          known == FrameKind::hello || known == FrameKind::heartbeat || known == FrameKind::peer_exchange;
      if (grows) payload += kMore;
      put(out, kind, payload);
      if (known == FrameKind::heartbeat) put(out, kUnknownKind, kMore);
    }
    return out;
  }

 private:
  static void put(std::string& out, std::uint8_t kind, std::string_view payload) {
    ByteWriter(out).number<std::uint8_t>(kind).sized<std::uint32_t>(payload);
  }
  std::string rest_;
};

class LaterStream final : public WrappedStream {
 public:
  using WrappedStream::WrappedStream;

  Task<Result<>> write(std::string_view bytes) override { return write_more(inner(), words_.embroider(bytes)); }

 private:
  static Task<Result<>> write_more(Stream& to, std::string bytes) { co_return co_await to.write(bytes); }

  Embroiderer words_;
};

}  // namespace

std::unique_ptr<Network> later(std::unique_ptr<Network> network) {
  return wrapped(std::move(network),
                 [](std::unique_ptr<Stream> stream) { return std::make_unique<LaterStream>(std::move(stream)); });
}

bool speaks_later(std::string_view bytes) { return bytes.contains(kMore); }

std::vector<std::string> later_pages(const NodeState& node_state) {
  auto pages = encode_pages(node_state);
  // A field of an unknown tag at the end of each entry, and an entry of an unknown kind at the end of each page.
  for (auto& page : pages) {
    std::string out;
    ByteReader in(page);
    while (in.ok() && !in.rest().empty()) {
      const auto kind = in.number<std::uint8_t>();
      std::string fields(in.sized<std::uint32_t>());
      ByteWriter(fields).number<std::uint8_t>(200).sized<std::uint16_t>(kMore);
      ByteWriter(out).number<std::uint8_t>(kind).sized<std::uint32_t>(fields);
    }
    ByteWriter(out).number<std::uint8_t>(kUnknownKind).sized<std::uint32_t>(kMore);
    page = std::move(out);
  }
  return pages;
}

}  // namespace corral::mesh::simulation
