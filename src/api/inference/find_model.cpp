#include "api/inference/find_model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "models/errors.h"

namespace corral::api {
namespace {

// A name that the last scan of this disk didn't find: a model of another node, or a new file. The disk is scanned
// before the answer only if no node has the name, so requests for models of other nodes wait for no disk.
async::Task<Result<backends::ModelPtr>> find_unknown(ApiContext& context, std::string name) {
  if (context.elsewhere == nullptr) co_return co_await context.models.find(std::move(name));
  auto elsewhere = context.elsewhere->find(name);
  if (elsewhere) {
    co_await context.models.catalog();  // starts a scan if necessary, without a wait
    const auto* far = fleet::as_remote_model(**elsewhere);
    if (far == nullptr || far->here_as.empty()) co_return elsewhere;
    auto here = context.models.find_known(far->here_as);
    co_return here || far->at.empty() ? here : elsewhere;
  }
  auto here = co_await context.models.find(std::move(name));
  if (here || here.error().code != models::errc::model_not_found) co_return here;
  // Errors of other nodes about the name are more specific than "not found".
  co_return elsewhere.error().code == models::errc::model_not_found ? here : elsewhere;
}

}  // namespace

async::Task<Result<backends::ModelPtr>> find_model(ApiContext& context, std::string name) {
  auto known = context.models.find_known(name);
  if (known) co_return known;
  co_return co_await find_unknown(context, std::move(name));
}

async::Task<Result<backends::ModelPtr>> find_own_model(ApiContext& context, std::string name) {
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
