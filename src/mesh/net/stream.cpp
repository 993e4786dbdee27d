#include "mesh/net/stream.h"

#include <algorithm>
#include <array>

#include "mesh/identity/errors.h"

namespace corral::mesh {
namespace {

using async::Task;

struct Name {
  Purpose purpose;
  std::string_view alpn;
};
constexpr std::array<Name, 6> kNames = {{{Purpose::control, "corral/1/control"},
                                         {Purpose::http, "corral/1/http"},
                                         {Purpose::copy, "corral/1/copy"},
                                         {Purpose::join, "corral/1/join"},
                                         {Purpose::back, "corral/1/back"},
                                         {Purpose::rpc, "corral/1/rpc"}}};

}  // namespace

std::string_view alpn_of(Purpose purpose) { return std::ranges::find(kNames, purpose, &Name::purpose)->alpn; }

std::optional<Purpose> purpose_of(std::string_view alpn) {
  const auto* found = std::ranges::find(kNames, alpn, &Name::alpn);
  return found == kNames.end() ? std::nullopt : std::optional(found->purpose);
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
