#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "api/images/filters.h"
#include "api/inference/model_of_request.h"
#include "models/errors.h"
#include "models/text.h"
#include "protocol/errors.h"

namespace corral::api {
namespace {

// Names that clients have as defaults.
constexpr auto kOpenAiNames = std::to_array<std::string_view>(
    {"dall-e-2", "dall-e-3", "gpt-image-1", "gpt-image-1-mini", "gpt-image-1.5", "chatgpt-image-latest"});

constexpr std::size_t kLongestShownName = 256;
constexpr std::string_view kHowToGetOne =
    "Get one with: curl -L -O https://huggingface.co/stable-diffusion-v1-5/stable-diffusion-v1-5/resolve/main/"
    "v1-5-pruned-emaonly.safetensors. Then add it to models.toml with recipe = \"sd-cpp\" and its path as checkpoint; "
    "docs/images.md describes each step";

bool is_missing(const Error& error) {
  return error.code == models::errc::model_not_found || error.code == protocol::errc::missing_field;
}

backends::ModelPtr first_image_model(const models::Catalog& catalog) {
  const auto makes_images = [](const backends::ModelPtr& model) { return model->type == ModelType::image; };
  const auto found = std::ranges::find_if(catalog.models(), makes_images);
  return found == catalog.models().end() ? nullptr : *found;
}

Error no_image_model(std::string_view name) {
  auto what = name.empty() ? std::string("There is no model for images on this server.")
                           : fmt::format("There is no model '{}' on this server, and no other model for images.",
                                         models::printable(name, kLongestShownName));
  return {make_error_code(models::errc::model_not_found), fmt::format("{} {}", what, kHowToGetOne), "model"};
}

// A name of OpenAI's means a model in memory, else the first one.
async::Task<http::Response> with_image_model(ImagesContext& context, CallPtr call, Next next) {
  auto& inference = context.inference;
  const auto& name = call->canonical.about.model;
  const auto catalog = co_await inference.files.models.catalog();
  auto first = first_image_model(*catalog);
  if (first == nullptr) {
    call->found = std::unexpected(no_image_model(name));
  } else if (std::ranges::find(kOpenAiNames, name) != kOpenAiNames.end()) {
    const auto report = co_await inference.core.router.report();
    call->found = unnamed_model(report, *catalog, ModelType::image).value_or(std::move(first));
  }
  auto answering = next(std::move(call));
  co_return co_await std::move(answering);
}

}  // namespace

Filter image_model_filter(ImagesContext& context) {
  return [&context](CallPtr call, Next next) {
    if (call->type != ModelType::image || call->found || !is_missing(call->found.error())) return next(std::move(call));
    return with_image_model(context, std::move(call), next);
  };
}

}  // namespace corral::api
