#include "cli/server/server_api.h"

#include <fmt/format.h>

#include "cli/errors.h"
#include "cli/server/advice.h"
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
  if (message) {
    Error error(errc::request_failed, advice_in_commands(*message));
    if (auto code = error_code_in(reply.body); !code.empty()) error.facts = ServerCode{std::move(code)};
    return error;
  }
  return {errc::request_failed,
          fmt::format("{} returned status {}: it may not be a corral server", api.url(), reply.status)};
}

}  // namespace corral::cli
