#include "simulation/mesh/censor.h"

#include <array>

#include "mesh/identity/bytes.h"
#include "mesh/identity/errors.h"
#include "simulation/mesh/wrapped.h"

namespace corral::mesh::simulation {
namespace {

using async::Task;

class CensoredStream final : public WrappedStream {
 public:
  CensoredStream(std::unique_ptr<Stream> inner, Censor censor)
      : WrappedStream(std::move(inner)), censor_(std::move(censor)) {}

  Task<Result<std::size_t>> read_some(std::span<char> space) override {
    std::array<char, 4096> raw;
    while (passed_.empty()) {
      const auto got = co_await inner().read_some(raw);
      if (!got || *got == 0) co_return got;
      if (take({raw.data(), *got})) continue;
      inner().close();
      co_return fail(errc::link_closed, "a frame that isn't liked");
    }
    const auto count = std::min(space.size(), passed_.size());
    std::copy_n(passed_.begin(), count, space.begin());
    passed_.erase(0, count);
    co_return count;
  }

 private:
  bool take(std::string_view bytes) {
    rest_.append(bytes);
    while (rest_.size() >= kFrameHead) {
      ByteReader head(rest_);
      const auto kind = static_cast<FrameKind>(head.number<std::uint8_t>());
      const auto length = head.number<std::uint32_t>();
      if (rest_.size() < kFrameHead + length) break;
      auto frame = censor_({kind, rest_.substr(kFrameHead, length)});
      if (!frame) return false;
      passed_ += encode(*frame);
      rest_.erase(0, kFrameHead + length);
    }
    return true;
  }

  const Censor censor_;
  std::string rest_, passed_;
};

}  // namespace

std::unique_ptr<Network> censored(std::unique_ptr<Network> network, Censor censor) {
  return wrapped(std::move(network), [censor = std::move(censor)](std::unique_ptr<Stream> stream) {
    return std::make_unique<CensoredStream>(std::move(stream), censor);
  });
}

}  // namespace corral::mesh::simulation
