#include "api/inference/model_of_request.h"

#include <fmt/format.h>

#include "api/files/find_model.h"
#include "protocol/errors.h"
#include "residency/instance_state.h"

namespace corral::api {
namespace {

constexpr std::size_t kMaxNames = 5;
constexpr std::chrono::seconds kComing{5};

std::string names_of(std::span<const backends::ModelPtr> models) {
  std::string text;
  for (const auto& model : models.first(std::min(models.size(), kMaxNames)))
    fmt::format_to(std::back_inserter(text), "{}'{}'", text.empty() ? "" : ", ", model->name.value());
  if (models.size() > kMaxNames) text += ", ...";
  return text;
}

// Requests for a model of any type are about tokens.
bool has_tokens(const models::ModelInfo& model) {
  return model.type != ModelType::transcription && model.type != ModelType::image && model.type != ModelType::tts;
}

std::string kind_of(std::optional<ModelType> type) {
  return type ? fmt::format("model of type {}", name_of(*type)) : std::string("model");
}

}  // namespace

Result<backends::ModelPtr> unnamed_model(const router::Report& report, const models::Catalog& catalog,
                                         std::optional<ModelType> type) {
  const auto fits = [&](const models::ModelInfo& model) { return type ? model.type == *type : has_tokens(model); };
  std::vector<backends::ModelPtr> loaded, known;
  for (const auto& instance : report.instances) {
    const bool stays = instance.view.leaving == residency::StopReason::none;
    if (residency::is_resident(instance.view.state) && stays && fits(*instance.model)) loaded.push_back(instance.model);
  }
  if (loaded.size() == 1) return loaded.front();
  for (const auto& model : catalog.models()) {
    if (fits(*model)) known.push_back(model);
  }
  if (loaded.empty() && known.size() == 1) return known.front();
  std::string text = fmt::format("'model' is required: ");
  if (!loaded.empty()) {
    text += fmt::format("more than one {} is loaded: {}", kind_of(type), names_of(loaded));
  } else if (!known.empty()) {
    text += fmt::format("no {} is loaded; available: {}", kind_of(type), names_of(known));
  } else {
    text += fmt::format("there is no {}", kind_of(type));
  }
  return fail(protocol::errc::missing_field, std::move(text), "model");
}

async::Task<Result<backends::ModelPtr>> unnamed_model_now(InferenceContext& context, std::optional<ModelType> type) {
  const auto catalog = co_await context.files.models.catalog();
  const auto report = co_await context.core.router.report();
  co_return unnamed_model(report, *catalog, type);
}

async::Task<Result<backends::ModelPtr>> model_of_request(InferenceContext& context, std::string name,
                                                         std::optional<ModelType> type) {
  if (!context.core.one_model) {
    auto finding = name.empty() ? unnamed_model_now(context, type) : find_model(context.files, std::move(name));
    co_return co_await std::move(finding);
  }
  // Avoids a scan of the disk for each remote name.
  if (!name.empty() && context.files.elsewhere != nullptr && !context.files.models.find_known(name)) {
    if (context.files.elsewhere->find(name)) co_return co_await find_model(context.files, std::move(name));
  }
  const auto catalog = co_await context.files.models.catalog();
  if (!catalog->models().empty()) co_return catalog->models().front();
  if (context.given_is_loading) {
    Error error(make_error_code(protocol::errc::remote_unavailable),
                "the model of this server is not here yet: its download runs, so try again later", "model");
    error.retry_after = kComing;
    co_return std::unexpected(std::move(error));
  }
  co_return co_await find_model(context.files, std::move(name));  // which returns the error
}

}  // namespace corral::api
