#include "api/base/command_body.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "api/base/body_check.h"
#include "config/options/close_keys.h"
#include "json/byte_order_mark.h"
#include "json/lone_surrogates.h"
#include "protocol/errors.h"

namespace corral::api {
namespace {

constexpr std::size_t kShownName = 64;  // bytes of an unknown name in messages

}  // namespace

async::Task<Result<json::Peek>> checked_body(const BodyContext& bodies, http::Request& request,
                                             const protocol::FieldTable& fields, bool may_be_empty) {
  auto body = co_await request.body.read_all(std::min<std::uint64_t>(bodies.max_bytes, kSmallBody));
  if (!body) co_return std::unexpected(body.error());
  *body = json::without_byte_order_mark(std::move(*body));
  json::replace_lone_surrogates(*body);
  if (may_be_empty && body->empty()) *body = "{}";
  auto peek = json::Peek::open(std::move(*body));
  if (!peek) co_return std::unexpected(peek.error());
  const auto fine = protocol::check(peek->root(), fields);
  if (!fine) co_return std::unexpected(fine.error());
  co_return std::move(*peek);
}

Result<> check_members(json::View body, const protocol::FieldTable& fields) {
  Result<> fine;
  body.each_member([&](std::string_view name, json::View) {
    if (fields.find(name) != nullptr) return true;
    std::vector<std::string_view> known;
    for (const protocol::Field& field : fields.fields()) known.push_back(field.name);
    const auto shown = name.substr(0, kShownName);
    const auto hint = config::did_you_mean(config::closest_of(shown, known));
    fine =
        fail(protocol::errc::unsupported_value, fmt::format("unknown option '{}'{}", shown, hint), std::string(shown));
    return false;
  });
  return fine;
}

}  // namespace corral::api
