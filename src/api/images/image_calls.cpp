#include "api/images/image_calls.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "api/base/body_check.h"
#include "dialects/error_filter.h"
#include "dialects/images/image_file.h"
#include "protocol/base64.h"
#include "protocol/errors.h"

namespace corral::api {
namespace {

namespace images = dialects::images;

// The images of a request have at most 16 million pixels (protocol/images.h): 64 MiB without compression, in base64.
constexpr std::uint64_t kLargestAnswer = 96ull << 20;
constexpr std::uint64_t kLargestError = 256 * 1024;
// Kept images leave space for uploads.
constexpr std::uint64_t kMaxKept = 256ull << 20;

// Where the client asked: its host, and the prefix of its path.
std::string base_of(const http::RequestHead& head) {
  constexpr std::string_view kImages = "/images/";
  const auto path = head.path();
  const auto prefix = path.substr(0, path.rfind(kImages));
  const auto host = head.headers.get("Host");
  const bool secure = head.headers.get("X-Forwarded-Proto") == "https";
  return fmt::format("{}://{}{}{}files/", secure ? "https" : "http", host.empty() ? "localhost" : host, prefix,
                     kImages);
}

// A backend may send another format than the requested one.
std::string format_of(std::string_view bytes) {
  const auto file = images::read_image_file(bytes);
  return file ? std::string(file->format) : std::string();
}

}  // namespace

ImageCalls::ImageCalls(ImagesContext& context, CallPtr call, Next next)
    : context_(context),
      call_(std::move(call)),
      next_(next),
      asked_(std::make_shared<images::ImagesAsked>(images::asked_of(call_->canonical))),
      base_(base_of(call_->request.head)) {}

std::int64_t ImageCalls::now() const { return epoch_millis(context_.inference.core.timers.wall_now()) / 1000; }

CallPtr ImageCalls::part(unsigned n) {
  const auto& whole = *call_;
  auto part = part_of(whole);
  part->canonical.about = whole.canonical.about;
  part->canonical.facts = whole.canonical.facts;
  if (whole.is_form()) {
    part->canonical.form = images::call_form(whole.canonical, n, done_);
  } else {
    part->canonical.body = images::call_body(whole.canonical, n, done_);
  }
  return part;
}

async::Task<std::expected<ImageCalls::Images, http::Response>> ImageCalls::next(std::shared_ptr<ImageCalls> calls,
                                                                                unsigned max) {
  const auto n = std::min(max, calls->left());
  auto answering = calls->next_(calls->part(n));
  auto answer = co_await std::move(answering);
  if (answer.head.status != 200) {
    if (answer.body.streaming()) {
      auto text = co_await answer.body.read_all(kLargestError);
      answer.body = http::Body(text ? std::move(*text) : std::string());
    }
    co_return std::unexpected(std::move(answer));
  }
  auto reading = calls->read(std::move(answer));
  auto made = co_await std::move(reading);
  if (!made) co_return std::unexpected(dialects::error_response(made.error()));
  if (made->size() > n) made->resize(n);
  calls->done_ += static_cast<unsigned>(made->size());
  if (calls->asked_->url) {
    auto keeping = calls->keep(*made);
    const auto kept = co_await std::move(keeping);
    if (!kept) co_return std::unexpected(dialects::error_response(kept.error()));
  }
  co_return std::move(*made);
}

async::Task<Result<ImageCalls::Images>> ImageCalls::read(http::Response answer) {
  auto text = co_await answer.body.read_all(kLargestAnswer);
  if (!text) co_return std::unexpected(text.error());
  const bool large = text->size() > kSmallBody;
  auto parsing = run_beside(context_.inference.bodies.threads, large,
                            [text = std::move(*text)] { return images::read_images(text); });
  co_return co_await std::move(parsing);
}

async::Task<Result<>> ImageCalls::keep(Images& images) {
  auto& room = *context_.inference.uploads;
  const auto limit = room.limit() == 0 ? kMaxKept : std::min(kMaxKept, room.limit() / 2);
  for (auto& image : images) {
    if (image.base64.empty()) continue;  // the backend has a URL of its own
    auto decoding = run_beside(context_.inference.bodies.threads, true,
                               [text = std::move(image.base64)] { return protocol::from_base64(text); });
    const auto bytes = co_await std::move(decoding);
    const auto format = bytes ? format_of(*bytes) : std::string();
    if (format.empty())
      co_return fail(protocol::errc::remote_upstream,
                     "the response of the backend has an image that is not png, jpeg "
                     "or webp");
    auto spool = std::make_shared<http::Spool>(room);
    auto writing = spool->append(*bytes);
    if (auto written = co_await std::move(writing); !written) co_return written;
    auto ending = spool->finish();
    if (auto ended = co_await std::move(ending); !ended) co_return ended;
    const auto name = context_.kept.keep({format, std::move(spool)}, limit, context_.inference.core.timers.now());
    image.base64.clear();
    image.url = base_ + name;
  }
  co_return Result<>();
}

}  // namespace corral::api
