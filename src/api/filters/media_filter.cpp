// Pictures and sound of requests. Their form was checked with the body (protocol/media.h); here it is known which model
// gets them. A request with them that can't succeed loads no model.
#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "api/base/body_check.h"
#include "api/base/errors.h"
#include "api/filters/filters.h"
#include "base/excerpt.h"
#include "dialects/error_filter.h"
#include "dialects/own_names.h"
#include "fleet/base/remote_models.h"
#include "protocol/answers/answers.h"
#include "protocol/errors.h"
#include "protocol/media.h"
#include "residency/instance_state.h"
#include "router/options/model_media.h"

namespace corral::api {
namespace {

using protocol::Media;
using protocol::WebPicture;
using router::ModelMedia;

constexpr std::size_t kMaxNamed = 3;   // models in a message
constexpr std::size_t kMaxShown = 80;  // bytes of a URL in a message
// Of the pictures of one request. The bytes are held in memory, and no limit of bodies counts them.
constexpr std::uint64_t kMaxFetched = 24ull << 20;
constexpr Millis kMaxFetchTime{30'000};
constexpr int kMaxFetching = 8;  // requests at the same time

// Of remote models, the router knows no load.
async::Task<ModelMedia> media_of(InferenceContext& context, backends::ModelPtr model) {
  if (fleet::is_remote(*model)) co_return router::media_announced(*model);
  std::vector<backends::ModelPtr> one{model};
  const auto projectors = co_await context.core.router.projectors(std::move(one));
  co_return router::media_of(*model, projectors.front());
}

bool fits(const ModelMedia& has, const Media& wanted) {
  return (has.pictures || wanted.pictures == 0) && (has.sounds || wanted.sounds == 0);
}

// Models that read what the request has: those in memory first.
async::Task<std::vector<std::string>> models_for(InferenceContext& context, Media wanted) {
  const auto report = co_await context.core.router.report();
  const auto catalog = co_await context.files.models.catalog();
  std::vector<backends::ModelPtr> models;
  for (const auto& instance : report.instances)
    if (residency::is_resident(instance.view.state)) models.push_back(instance.model);
  models.insert(models.end(), catalog->models().begin(), catalog->models().end());
  const auto projectors = co_await context.core.router.projectors(models);
  std::vector<std::string> names;
  const auto add = [&](const std::string& name) {
    if (names.size() < kMaxNamed && std::ranges::find(names, name) == names.end()) names.push_back(name);
  };
  for (std::size_t i = 0; i < models.size(); ++i) {
    const models::ModelInfo& model = *models[i];
    if (!model.declared.unlisted && fits(router::media_of(model, projectors[i]), wanted)) add(model.name.value());
  }
  const auto view = context.core.node != nullptr ? context.core.node->view() : nullptr;
  if (view == nullptr || view->catalog == nullptr) co_return names;
  for (const auto& model : view->catalog->models()) {
    if (model.is_here() || model.facts == nullptr) continue;
    const ModelMedia has{.pictures = model.facts->vision, .sounds = router::reads_sound(model.facts->labels)};
    if (fits(has, wanted)) add(model.name);
  }
  co_return names;
}

Error not_read(const models::ModelInfo& model, const Media& wanted, const ModelMedia& has,
               const std::vector<std::string>& others) {
  const bool pictures = wanted.pictures > 0 && !has.pictures;
  const std::string_view what = pictures ? "pictures" : "sound";
  const auto reads = has.pictures ? "text and pictures" : has.sounds ? "text and sound" : "text";
  std::string advice;
  const bool without = !model.mmproj.empty() && !has.pictures && !has.sounds;
  if (without) advice = "its option 'mmproj' is \"none\", so load it with its projector, ";
  if (!others.empty()) advice += fmt::format("use '{}', ", fmt::join(others, "' or '"));
  if (advice.empty()) advice = "no model here does, so download one with its projector (mmproj), ";
  return {make_error_code(errc::media_not_supported),
          fmt::format("'messages' has {}, but '{}' reads only {}: {}or remove the {}", what, model.name.value(), reads,
                      advice, what),
          "messages"};
}

async::Task<Result<>> check_reads(InferenceContext& context, backends::ModelPtr model, Media wanted) {
  const auto has = co_await media_of(context, model);
  if (!has.sure) co_return Result<>();
  if (wanted.videos > 0) {
    co_return fail(
        errc::media_not_supported,
        fmt::format("'messages' has videos, but '{}' reads none: send some pictures of them", model->name.value()),
        "messages");
  }
  if (fits(has, wanted)) co_return Result<>();
  const auto others = co_await models_for(context, wanted);
  co_return std::unexpected(not_read(*model, wanted, has, others));
}

// ---- pictures of the web

// One of the requests that fetch pictures.
class Fetching {
 public:
  explicit Fetching(std::shared_ptr<std::atomic<int>> count) : count_(std::move(count)), number_(++*count_) {}
  ~Fetching() { --*count_; }
  Fetching(const Fetching&) = delete;
  Fetching& operator=(const Fetching&) = delete;
  bool too_many() const { return number_ > kMaxFetching; }

 private:
  const std::shared_ptr<std::atomic<int>> count_;
  const int number_;
};

std::unexpected<Error> not_fetched(const WebPicture& picture, std::string_view why) {
  return fail(errc::picture_not_fetched,
              fmt::format("'{}' cannot be fetched: {} (\"{}\"): send the picture as a data URL", picture.place, why,
                          excerpt(picture.url, kMaxShown)),
              picture.place);
}

std::unexpected<Error> fetches_none(const WebPicture& picture) {
  return fail(protocol::errc::unsupported_value,
              fmt::format("'{}' is the URL \"{}\", but this server fetches no pictures: send a data URL "
                          "(\"data:image/png;base64,...\"), or turn the setting fetch_images on",
                          picture.place, excerpt(picture.url, kMaxShown)),
              picture.place);
}

struct Picture {
  std::string_view type;  // static
  std::string bytes;
};
using Pictures = std::vector<Picture>;

async::Task<Result<Pictures>> fetched(FilterContext& context, std::shared_ptr<std::atomic<int>> fetching,
                                      std::vector<WebPicture> wanted) {
  Pictures pictures;
  if (wanted.empty()) co_return pictures;
  if (!context.fetch_picture) co_return fetches_none(wanted.front());
  const Fetching one(std::move(fetching));
  if (one.too_many()) {
    Error error(make_error_code(protocol::errc::remote_unavailable),
                fmt::format("{} requests fetch pictures already: try again, or send data URLs", kMaxFetching));
    error.retry_after = std::chrono::seconds(1);
    co_return std::unexpected(std::move(error));
  }
  auto& timers = context.inference.core.timers;
  const auto end = timers.now() + kMaxFetchTime;
  std::uint64_t left = kMaxFetched;
  for (const auto& picture : wanted) {
    if (timers.now() >= end)
      co_return not_fetched(picture,
                            fmt::format("all pictures together take longer than {} s", kMaxFetchTime.count() / 1000));
    auto getting = context.fetch_picture(picture.url, protocol::kMaxMediaBytes);
    auto bytes = co_await std::move(getting);
    if (!bytes) co_return not_fetched(picture, bytes.error().message);
    const auto type = protocol::picture_type(*bytes);
    if (type.empty()) co_return not_fetched(picture, "it is no PNG, JPEG, WebP or GIF");
    if (bytes->size() > left)
      co_return not_fetched(picture, fmt::format("the fetched pictures of a request may have {} bytes in all, and it "
                                                 "has {}",
                                                 kMaxFetched, bytes->size()));
    left -= bytes->size();
    pictures.push_back({type, std::move(*bytes)});
  }
  co_return pictures;
}

struct Found {
  std::string body;
  std::vector<WebPicture> pictures;
};
Found find_pictures(std::string body) {
  Found found{.body = std::move(body), .pictures = {}};
  if (const auto peek = json::Peek::open(found.body))
    found.pictures = protocol::web_pictures(peek->root().find("messages"));
  return found;
}

std::string with_pictures(std::string body, const Pictures& pictures) {
  std::vector<std::string> urls;
  for (const auto& [type, bytes] : pictures)
    urls.push_back(fmt::format("data:{};base64,{}", type, protocol::base64(bytes)));
  const auto peek = json::Peek::open(body);
  return peek ? protocol::with_data_urls(peek->root(), urls) : body;
}

async::Task<Result<>> make_canonical(FilterContext& context, std::shared_ptr<std::atomic<int>> fetching,
                                     dialects::Canonical& asked) {
  auto* const threads = context.inference.bodies.threads;
  const bool large = asked.body.size() > kSmallBody;
  auto finding =
      run_beside(threads, large, [body = std::move(asked.body)]() mutable { return find_pictures(std::move(body)); });
  auto found = co_await std::move(finding);
  auto getting = fetched(context, std::move(fetching), std::move(found.pictures));
  auto pictures = co_await std::move(getting);
  if (!pictures) co_return std::unexpected(std::move(pictures.error()));
  const bool more = large || !pictures->empty();
  auto writing = run_beside(threads, more, [body = std::move(found.body), pictures = std::move(*pictures)]() mutable {
    return with_pictures(std::move(body), pictures);
  });
  asked.body = co_await std::move(writing);
  co_return Result<>();
}

// Fields have the client's names.
http::Response refusal(const dialects::Canonical& asked, Error error) {
  if (asked.names != nullptr) dialects::rename_field(error, *asked.names);
  return dialects::error_response(error);
}

async::Task<http::Response> with_media(FilterContext& context, std::shared_ptr<std::atomic<int>> fetching, CallPtr call,
                                       Next next) {
  const auto media = call->canonical.about.media;
  auto checking = check_reads(context.inference, call->model(), media);
  auto able = co_await std::move(checking);
  if (!able) co_return refusal(call->canonical, std::move(able.error()));
  if (media.urls > 0 || !media.canonical) {
    auto making = make_canonical(context, std::move(fetching), call->canonical);
    auto made = co_await std::move(making);
    if (!made) co_return refusal(call->canonical, std::move(made.error()));
  }
  auto answering = next(std::move(call));
  co_return co_await std::move(answering);
}

}  // namespace

Filter media_filter(FilterContext& context) {
  return [&context, fetching = std::make_shared<std::atomic<int>>(0)](CallPtr call, Next next) {
    if (!call->canonical.about.media.any()) return next(std::move(call));
    return with_media(context, fetching, std::move(call), next);
  };
}

}  // namespace corral::api
