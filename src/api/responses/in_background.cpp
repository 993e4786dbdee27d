#include "api/responses/in_background.h"

#include <utility>

#include "dialects/error_filter.h"
#include "dialects/responses/response_translator.h"

namespace corral::api {

std::shared_ptr<const dialects::Canonical> shown_in_background(const dialects::Canonical& asked) {
  auto shown = std::make_shared<dialects::Canonical>();
  shown->about = asked.about;
  shown->facts = asked.facts;
  shown->id = asked.id;
  shown->received = asked.received;
  return shown;
}

namespace {

// Removes the row of an answer that could not be stored: it says that the answer is queued.
async::Task<bool> store_or_erase(std::shared_ptr<Keeping> keeping, std::string status, std::string doc) {
  auto storing = keeping->store_now(std::move(status), std::move(doc));
  const bool stored = co_await std::move(storing);
  if (stored) co_return true;
  auto erasing = keeping->erase();
  co_await std::move(erasing);
  co_return false;
}

}  // namespace

async::Task<http::Response> begin_in_background(
    ResponsesContext& context, std::shared_ptr<Keeping> keeping, std::shared_ptr<const dialects::Canonical> shown,
    std::uint64_t bytes, std::move_only_function<async::Task<http::Response>(std::function<void()> started)> begin) {
  auto& store = keeping->store();
  auto& background = *context.background;
  const auto id = keeping->id(), owner = keeping->owner();
  const bool streams = shown->about.stream;
  auto row = keeping->row("queued", dialects::responses::response_document(*shown, "queued"));
  auto putting = store.put_now(std::move(row));
  const auto put = co_await std::move(putting);
  if (!put) co_return dialects::error_response(put.error());
  BackgroundWork work{.id = id, .owner = owner, .asked = std::move(shown), .bytes = bytes, .answer = std::move(begin)};
  work.keep = [keeping = std::move(keeping)](std::string status, std::string doc) {
    return store_or_erase(keeping, std::move(status), std::move(doc));
  };
  auto starting = background.start(std::move(work));
  auto started = co_await std::move(starting);
  if (!started) {
    auto erasing = store.erase_response(owner, id);
    (void)co_await std::move(erasing);
    co_return dialects::error_response(started.error());
  }
  if (!streams) co_return http::Response::json(200, std::move(*started));
  auto listening = background.events(owner, id, 0);
  auto events = co_await std::move(listening);
  co_return http::Response::event_stream(std::move(events));
}

}  // namespace corral::api
