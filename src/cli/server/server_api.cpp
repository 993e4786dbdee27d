#include "cli/server/server_api.h"

#include <fmt/format.h>

#include "cli/errors.h"
#include "cli/server/reply_parser.h"

namespace corral::cli {

Result<std::string> fetch(ServerApi& api, const ApiRequest& request) {
  auto reply = api.call(request);
  if (!reply) return std::unexpected(reply.error());
  if (reply->status < 400) return std::move(reply->body);
  return std::unexpected(refusal(api, *reply));
}

Error refusal(const ServerApi& api, const ApiReply& reply) {
  const auto message = error_in(reply.body);
  if (message) return {errc::request_failed, *message};
  return {errc::request_failed,
          fmt::format("{} returned status {}: it may not be a corral server", api.url(), reply.status)};
}

}  // namespace corral::cli
