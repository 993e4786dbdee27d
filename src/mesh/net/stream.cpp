#include "mesh/net/stream.h"

#include <array>

#include "async/parallel_group.h"
#include "mesh/identity/errors.h"

namespace corral::mesh {
namespace {

using async::Task;

constexpr std::array<std::string_view, kPurposes> kNames = {"corral/1/control", "corral/1/http", "corral/1/copy",
                                                            "corral/1/join",    "corral/1/back", "corral/1/relay",
                                                            "corral/1/rpc"};
constexpr std::size_t kPipeBytes = 16 * 1024;

}  // namespace

std::string_view alpn_of(Purpose purpose) { return kNames[static_cast<std::size_t>(purpose)]; }

std::optional<Purpose> purpose_of(std::string_view alpn) {
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == alpn) return static_cast<Purpose>(i);
  }
  return std::nullopt;
}

Task<void> pipe_one_way(std::shared_ptr<Stream> from, std::shared_ptr<Stream> to) {
  std::string space(kPipeBytes, '\0');
  while (true) {
    const auto got = co_await from->read_some(space);
    if (got && *got == 0) {
      co_await to->finish();
      co_return;
    }
    if (!got) break;
    const std::string_view bytes(space.data(), *got);
    const auto written = co_await to->write(bytes);
    if (!written) break;
  }
  from->close();
  to->close();
}

Task<void> pipe(std::shared_ptr<Stream> one, std::shared_ptr<Stream> other) {
  const auto executor = co_await async::asio::this_coro::executor;
  auto there = async::asio::co_spawn(executor, pipe_one_way(one, other), async::asio::deferred);
  auto back = async::asio::co_spawn(executor, pipe_one_way(other, one), async::asio::deferred);
  auto both = async::asio::experimental::make_parallel_group(std::move(there), std::move(back));
  co_await both.async_wait(async::asio::experimental::wait_for_all(), async::use_task);
  one->close();
  other->close();
}

Task<Result<std::string>> read_exactly(Stream& stream, std::size_t count) {
  std::string bytes(count, '\0');
  for (std::size_t at = 0; at < count;) {
    const std::span<char> space(bytes.data() + at, count - at);
    const auto got = co_await stream.read_some(space);
    if (!got) co_return std::unexpected(got.error());
    if (*got == 0) co_return fail(errc::link_closed, "the peer ended the connection");
    at += *got;
  }
  co_return bytes;
}

}  // namespace corral::mesh
