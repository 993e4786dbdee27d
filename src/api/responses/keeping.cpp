#include "api/responses/keeping.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "api/base/body_check.h"
#include "api/base/errors.h"
#include "dialects/answer_id.h"
#include "dialects/responses/kept_items.h"
#include "json/lone_surrogates.h"
#include "protocol/errors.h"
#include "store/errors.h"

namespace corral::api {
namespace {

using dialects::Before;
namespace responses = dialects::responses;

// How long an answer waits for the disk.
constexpr Millis kStoring{5'000};

async::Task<Result<dialects::Canonical>> read_on(async::ThreadPool* threads, const dialects::Endpoint& endpoint,
                                                 std::shared_ptr<std::string> body,
                                                 std::shared_ptr<const Before> before) {
  std::size_t bytes = body->size();
  for (const auto& text : before->earlier) bytes += text.size();
  auto work = [read = endpoint.read_on, body = std::move(body), before = std::move(before)] {
    json::replace_lone_surrogates(*body);
    return read(*body, *before);
  };
  if (threads == nullptr || bytes <= kSmallBody) co_return work();
  co_return co_await threads->run(std::move(work));
}

// The field that refers to stored data.
std::string_view backward_field(const dialects::StorageRequest& storage) {
  return !storage.previous.empty() ? "previous_response_id" : !storage.conversation.empty() ? "conversation" : "input";
}

Error about_field(Error error, std::string_view field) {
  error.param = field;
  return error;
}

bool is_under_way(std::string_view status) { return status == store::kQueued || status == store::kInProgress; }

// Forwards a stream, and stores the answer before its last event.
class StoringBody final : public http::BodySource {
 public:
  StoringBody(std::unique_ptr<http::BodySource> body, std::shared_ptr<Keeping> keeping)
      : body_(std::move(body)), keeping_(std::move(keeping)) {}
  async::Task<Result<std::string_view>> read() override {
    if (last_.empty()) {
      const auto piece = co_await body_->read();
      if (!piece || !is_last(*piece)) co_return piece;
      last_ = *piece;
    }
    sent_ = std::exchange(last_, {});
    auto storing = store();
    co_await std::move(storing);
    co_return std::string_view(sent_);
  }
  std::string_view take_ready() override {
    if (!last_.empty()) return {};
    const auto piece = body_->take_ready();
    if (!is_last(piece)) return piece;
    last_ = piece;  // to store it takes a wait
    return {};
  }
  void abort() override { body_->abort(); }
  std::optional<std::uint64_t> length() const override { return body_->length(); }

 private:
  bool is_last(std::string_view events) const {
    return keeping_ && !events.empty() && responses::last_answer(events).has_value();
  }
  async::Task<void> store() {
    const auto keeping = std::exchange(keeping_, nullptr);
    const auto answer = *responses::last_answer(sent_);
    auto storing = keeping->store_now(std::string(answer.status), std::string(answer.doc));
    const bool stored = co_await std::move(storing);
    if (!stored) sent_ = responses::events_not_stored(std::move(sent_));
  }

  const std::unique_ptr<http::BodySource> body_;
  std::shared_ptr<Keeping> keeping_;
  std::string last_;  // the events with the end of the answer, which aren't sent yet
  std::string sent_;
};

}  // namespace

store::Store* response_store(const ResponsesContext& context) {
  const bool on = context.core.settings == nullptr || context.core.settings->in_force()->store_responses;
  return on ? context.core.store : nullptr;
}

Error nothing_kept(std::string_view what) {
  return {make_error_code(errc::nothing_kept),
          fmt::format("{} needs stored data of earlier requests, but this server stores nothing: enable "
                      "store_responses, or send the whole conversation in 'input'",
                      what)};
}

Keeping::Keeping(store::Store* store, async::Timers& timers, const http::Request& request)
    : store_(store),
      timers_(timers),
      id_(dialects::answer_id("resp", request.id.value())),
      owner_(request.caller.key),
      last_(std::dynamic_pointer_cast<LastResponse>(request.session)) {}

async::Task<Result<dialects::Canonical>> Keeping::read(ResponsesContext& context, const dialects::Endpoint& endpoint,
                                                       const http::Request& request, std::string body,
                                                       std::shared_ptr<Keeping>& keeping) {
  auto mine = std::make_shared<Keeping>(response_store(context), context.core.timers, request);
  mine->created_ = epoch_millis(context.core.timers.wall_now());
  auto before = std::make_shared<Before>();
  before->id = request.id.value();
  const bool answers = endpoint.make_translator != nullptr;
  Result<store::Store::Place> place = store::Store::Place();
  if (answers && mine->store_ != nullptr) place = mine->store_->reserve();
  before->keeps = answers && mine->store_ != nullptr && place.has_value();
  before->remembers = answers && mine->last_ != nullptr;
  auto shared = std::make_shared<std::string>(std::move(body));
  auto reading = read_on(context.bodies.threads, endpoint, shared, before);
  auto asked = co_await std::move(reading);
  if (!asked) co_return asked;
  mine->storage_ = asked->storage;
  const auto& storage = *asked->storage;
  const bool in_memory = mine->continues_last() && storage.references.empty();
  if (mine->store_ == nullptr && storage.looks_back() && !in_memory) {
    const auto field = backward_field(storage);
    co_return std::unexpected(about_field(nothing_kept(fmt::format("'{}'", field)), field));
  }
  if (answers && storage.background && (mine->store_ == nullptr || context.background == nullptr))
    co_return std::unexpected(about_field(nothing_kept("'background'"), "background"));
  if (mine->continues_last() && storage.insists) {
    co_return fail(protocol::errc::bad_value,
                   fmt::format("'store' is true, but '{}' is not stored: omit 'store', or send the whole conversation "
                               "in 'input'",
                               storage.previous),
                   "store");
  }
  if (answers && mine->store_ != nullptr) {
    const bool needs = storage.insists || storage.background || !storage.conversation.empty();
    if (!place && needs) co_return std::unexpected(place.error());
    if (storage.store && !mine->continues_last()) mine->answer_ = std::move(*place);
    if (!storage.conversation.empty()) {
      auto second = storage.store ? mine->store_->reserve() : std::move(place);
      if (!second) co_return std::unexpected(second.error());
      mine->items_ = std::move(*second);
    }
  }
  if (storage.looks_back()) {
    auto found = std::make_shared<Before>(*before);
    found->found = true;
    found->keeps = found->keeps && !mine->continues_last();
    auto looking = mine->look_back(context.bodies.max_bytes, *found);
    const auto looked = co_await std::move(looking);
    if (!looked) co_return std::unexpected(looked.error());
    auto again = read_on(context.bodies.threads, endpoint, shared, found);
    asked = co_await std::move(again);
    if (!asked) co_return asked;
    mine->storage_ = asked->storage;
    if (mine->last_) mine->before_ = std::move(found);
  }
  if (answers) keeping = std::move(mine);
  co_return asked;
}

async::Task<Result<>> Keeping::look_back(std::uint64_t max, Before& before) const {
  const store::ReadLimits limits{.bytes = max};
  if (!storage_->previous.empty()) {
    auto looking = look_for_answers(max, before);
    const auto looked = co_await std::move(looking);
    if (!looked) co_return looked;
  }
  if (!storage_->conversation.empty()) {
    auto reading = store_->all_items(owner_, storage_->conversation, limits);
    auto items = co_await std::move(reading);
    if (!items) co_return std::unexpected(about_field(std::move(items.error()), "conversation"));
    std::string list = "[";
    for (const auto& item : *items) list.append(list.size() > 1 ? "," : "").append(item.doc);
    before.earlier.push_back(std::move(list.append("]")));
  }
  if (storage_->references.empty()) co_return Result<>();
  auto looking = look_for_items(max, before);
  co_return co_await std::move(looking);
}

async::Task<Result<>> Keeping::look_for_answers(std::uint64_t max, Before& before) const {
  if (continues_last()) {
    before.earlier = last_->take_up();
    std::uint64_t bytes = 0;
    for (const auto& text : before.earlier) bytes += text.size();
    if (bytes <= max) co_return Result<>();
    co_return fail(store::errc::too_large,
                   fmt::format("the conversation of {} has more than {} bytes: start a new one with the relevant parts",
                               storage_->previous, max),
                   "previous_response_id");
  }
  auto reading = store_->chain(owner_, storage_->previous, {.bytes = max});
  auto rows = co_await std::move(reading);
  if (!rows) {
    auto error = about_field(std::move(rows.error()), "previous_response_id");
    if (error.code == store::errc::not_found) error.code = make_error_code(errc::previous_response_not_found);
    co_return std::unexpected(std::move(error));
  }
  if (is_under_way(rows->back().status)) {
    co_return fail(errc::previous_response_not_found,
                   fmt::format("'{}' is still running: wait for its end, or cancel it", storage_->previous),
                   "previous_response_id");
  }
  for (auto& row : *rows) {
    before.earlier.push_back(std::move(row.input));
    before.earlier.push_back(std::move(row.doc));
  }
  co_return Result<>();
}

// An item's id contains the id of its answer.
async::Task<Result<>> Keeping::look_for_items(std::uint64_t max, Before& before) const {
  std::set<std::string> answers;
  for (const auto& item : storage_->references) {
    auto answer = responses::answer_of_item(item);
    if (!answer.empty()) answers.insert(std::move(answer));
  }
  const store::ReadLimits limits{.bytes = max};
  if (answers.size() > limits.rows) {
    co_return fail(
        store::errc::too_long,
        fmt::format("'input' refers to items of {} responses, but at most {} are allowed: send the items themselves",
                    answers.size(), limits.rows),
        "input");
  }
  auto reading = store_->responses(owner_, {answers.begin(), answers.end()}, limits);
  auto rows = co_await std::move(reading);
  if (!rows) co_return std::unexpected(about_field(std::move(rows.error()), "input"));
  for (const auto& row : *rows) {
    for (const auto* text : {&row.input, &row.doc}) {
      for (auto& item : responses::items_in(*text)) {
        if (std::ranges::binary_search(storage_->references, item.id))
          before.items.insert_or_assign(std::move(item.id), std::move(item.doc));
      }
    }
  }
  co_return Result<>();
}

store::ResponseRow Keeping::row(std::string status, std::string doc) const {
  return {.id = id_,
          .owner = owner_,
          .created = created_,
          .status = std::move(status),
          .previous = storage_->previous,
          .doc = std::move(doc),
          .input = storage_->input};
}

void Keeping::append_items(std::string_view status, const std::string& doc) {
  if (!items_ || (status != "completed" && status != "incomplete")) return;
  std::vector<store::ItemRow> items;
  for (const auto* text : {&storage_->input, &doc}) {
    for (auto& item : responses::items_in(*text)) items.push_back({std::move(item.id), std::move(item.doc)});
  }
  store_->append(std::move(items_), owner_, storage_->conversation, std::move(items));
}

async::Task<bool> Keeping::store_now(std::string status, std::string doc) {
  append_items(status, doc);
  if (!answer_) {
    remember(status, doc);
    co_return true;  // and the document doesn't say that it is stored
  }
  auto row_to_put = last_ ? row(status, doc) : row(std::move(status), std::move(doc));
  auto putting = store_->put_now(std::move(answer_), std::move(row_to_put));
  const auto put = co_await async::with_timeout(timers_, kStoring, std::move(putting));
  const bool stored = put && *put;
  if (!stored) remember(status, doc);
  co_return stored;
}

void Keeping::remember(std::string_view status, const std::string& doc) {
  if (!last_ || (status != "completed" && status != "incomplete")) return;
  auto texts = before_ ? before_->earlier : std::vector<std::string>();
  texts.push_back(storage_->input);
  texts.push_back(doc);
  last_->remember(id_, std::move(texts));
}

async::Task<void> Keeping::erase() {
  auto erasing = store_->erase_response(owner_, id_);
  (void)co_await async::with_timeout(timers_, kStoring, std::move(erasing));
}

async::Task<http::Response> kept(http::Response answer, std::shared_ptr<Keeping> keeping) {
  if (answer.head.status >= 400) co_return answer;
  if (answer.body.streaming()) {
    answer.body = http::Body(std::make_unique<StoringBody>(answer.body.take_source(), std::move(keeping)));
    co_return answer;
  }
  const auto& doc = answer.body.text();
  auto storing = keeping->store_now(responses::status_in(doc), doc);
  const bool stored = co_await std::move(storing);
  if (!stored) answer.body = http::Body(responses::not_stored(doc));
  co_return answer;
}

}  // namespace corral::api
