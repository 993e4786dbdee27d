#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "api/images/filters.h"
#include "models/errors.h"
#include "models/text.h"
#include "protocol/errors.h"

namespace corral::api {
namespace {

constexpr std::size_t kLongestShownName = 256;
constexpr std::string_view kHowToGetOne =
    "Get one with: curl -L -O https://huggingface.co/stable-diffusion-v1-5/stable-diffusion-v1-5/resolve/main/"
    "v1-5-pruned-emaonly.safetensors. Then add it to models.toml with recipe = \"sd-cpp\" and its path as checkpoint; "
    "docs/images.md describes each step";

bool is_missing(const Error& error) {
  return error.code == models::errc::model_not_found || error.code == protocol::errc::missing_field;
}

bool has_image_model(const models::Catalog& catalog) {
  return std::ranges::any_of(catalog.models(), [](const auto& model) { return model->type == ModelType::image; });
}

Error no_image_model(std::string_view name) {
  auto what = name.empty() ? std::string("There is no model for images on this server.")
                           : fmt::format("There is no model '{}' on this server, and no other model for images.",
                                         models::printable(name, kLongestShownName));
  return {make_error_code(models::errc::model_not_found), fmt::format("{} {}", what, kHowToGetOne), "model"};
}

async::Task<http::Response> without_model(ImagesContext& context, CallPtr call, Next next) {
  const auto catalog = co_await context.inference.files.models.catalog();
  if (!has_image_model(*catalog)) call->found = std::unexpected(no_image_model(call->canonical.about.model));
  auto answering = next(std::move(call));
  co_return co_await std::move(answering);
}

}  // namespace

Filter image_model_filter(ImagesContext& context) {
  return [&context](CallPtr call, Next next) {
    if (call->type != ModelType::image || call->found || !is_missing(call->found.error())) return next(std::move(call));
    return without_model(context, std::move(call), next);
  };
}

}  // namespace corral::api
