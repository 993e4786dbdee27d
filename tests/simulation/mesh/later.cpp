#include "simulation/mesh/later.h"

#include "mesh/identity/bytes.h"
#include "mesh/link/frame.h"

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
      const bool grows = known == FrameKind::hello || known == FrameKind::heartbeat || known == FrameKind::whereabouts;
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

class LaterStream final : public Stream {
 public:
  explicit LaterStream(std::unique_ptr<Stream> inner) : inner_(std::move(inner)) {}

  const Peer& peer() const override { return inner_->peer(); }
  Purpose purpose() const override { return inner_->purpose(); }
  Task<Result<std::size_t>> read_some(std::span<char> space) override { return inner_->read_some(space); }
  Task<Result<>> write(std::string_view bytes) override { return write_more(*inner_, words_.embroider(bytes)); }
  Task<void> finish() override { return inner_->finish(); }
  void close() override { inner_->close(); }
  Task<Result<bool>> readable() override { return inner_->readable(); }
  bool is_quiet() const override { return inner_->is_quiet(); }
  Sha256 exporter(std::string_view label) const override { return inner_->exporter(label); }

 private:
  static Task<Result<>> write_more(Stream& to, std::string bytes) { co_return co_await to.write(bytes); }

  std::unique_ptr<Stream> inner_;
  Embroiderer words_;
};

using StreamResult = Result<std::unique_ptr<Stream>>;

class LaterNetwork final : public Network {
 public:
  explicit LaterNetwork(std::unique_ptr<Network> inner) : inner_(std::move(inner)) {}

  Task<StreamResult> dial(Address address, std::vector<NodeId> pins, Purpose purpose) override {
    return dressed(inner_->dial(std::move(address), std::move(pins), purpose));
  }
  Task<StreamResult> accept() override { return dressed(inner_->accept()); }
  Task<StreamResult> dial_within(std::unique_ptr<Stream> carrier, NodeId pin, Purpose purpose) override {
    return inner_->dial_within(std::move(carrier), pin, purpose);
  }
  Task<StreamResult> accept_within(std::unique_ptr<Stream> carrier, Doorkeeper doorkeeper) override {
    return inner_->accept_within(std::move(carrier), std::move(doorkeeper));
  }

 private:
  static Task<StreamResult> dressed(Task<StreamResult> making) {
    auto stream = co_await std::move(making);
    if (stream && (*stream)->purpose() == Purpose::control) {
      std::unique_ptr<Stream> later = std::make_unique<LaterStream>(std::move(*stream));
      co_return later;
    }
    co_return stream;
  }
  std::unique_ptr<Network> inner_;
};

}  // namespace

std::unique_ptr<Network> later(std::unique_ptr<Network> network) {
  return std::make_unique<LaterNetwork>(std::move(network));
}

std::vector<std::string> later_pages(const Statement& said) {
  auto pages = encode_pages(said);
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
