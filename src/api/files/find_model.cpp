#include "api/files/find_model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "fleet/base/errors.h"
#include "models/errors.h"

namespace corral::api {
namespace {

// A request waits for this time for a link that has just been lost, or isn't up yet: after a pause of a busy node its
// link is back within a second or two.
constexpr Millis kReconnect{3'000};
constexpr Millis kLook{100};

bool may_come_back(const Error& error) {
  return error.code == fleet::errc::out_of_reach && error.retry_after && *error.retry_after <= std::chrono::seconds(1);
}

// The model of another node, or the error after kReconnect.
async::Task<Result<backends::ModelPtr>> after_reconnection(FilesContext& context, std::string name, Error error) {
  const auto until = context.timers.now() + kReconnect;
  Result<backends::ModelPtr> found = std::unexpected(std::move(error));
  while (!found && may_come_back(found.error()) && context.timers.now() < until) {
    auto pause = context.timers.sleep_for(kLook);
    co_await std::move(pause);
    found = context.elsewhere->find(name);
  }
  co_return found;
}

// A name that the last scan of this disk didn't find: a model of another node, or a new file. The disk is scanned
// before the answer only if no node has the name, so requests for models of other nodes wait for no disk.
async::Task<Result<backends::ModelPtr>> find_unknown(FilesContext& context, std::string name) {
  if (context.elsewhere == nullptr) co_return co_await context.models.find(std::move(name));
  auto elsewhere = context.elsewhere->find(name);
  if (!elsewhere) {
    auto here = co_await context.models.find(name);
    if (here || here.error().code != models::errc::model_not_found) co_return here;
    // Errors of other nodes about the name are more specific than "not found".
    if (elsewhere.error().code == models::errc::model_not_found) co_return here;
    elsewhere = co_await after_reconnection(context, std::move(name), std::move(elsewhere.error()));
    if (!elsewhere) co_return elsewhere;
  }
  co_await context.models.catalog();  // starts a scan if necessary, without a wait
  const auto* far = fleet::as_remote_model(**elsewhere);
  if (far == nullptr || far->here_as.empty()) co_return elsewhere;
  auto here = context.models.find_known(far->here_as);
  co_return here || far->at.empty() ? here : elsewhere;
}

}  // namespace

async::Task<Result<backends::ModelPtr>> find_model(FilesContext& context, std::string name) {
  auto known = context.models.find_known(name);
  if (known) co_return known;
  co_return co_await find_unknown(context, std::move(name));
}

async::Task<Result<backends::ModelPtr>> find_own_model(FilesContext& context, std::string name) {
  auto model = co_await find_model(context, std::move(name));
  const auto* far = model ? fleet::as_remote_model(**model) : nullptr;
  if (far == nullptr) co_return model;
  co_return fail(
      models::errc::model_not_found,
      fmt::format(
          "'{}' is not on this machine but at {}: send the request there, or copy the model with corral mesh pull",
          far->name.value(), fmt::join(far->at, ", ")),
      "model");
}

}  // namespace corral::api
