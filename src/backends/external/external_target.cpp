#include "backends/external/external_target.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "backends/external/answer_name.h"
#include "backends/external/error_shape.h"
#include "backends/external/form_fields.h"
#include "backends/external/sd_requests.h"
#include "json/peek.h"
#include "json/writer.h"
#include "protocol/client_tag.h"

namespace corral::backends {
namespace {

// Larger bodies are translated off the loop.
constexpr std::size_t kSmallBody = 64 * 1024;
constexpr std::size_t kMaxErrorBody = 256 * 1024;

// The name that the client asked for; empty: the body has none.
std::string model_in(std::string_view body) {
  const std::string text(body);
  const auto peek = json::Peek::open(text);
  return peek && peek->root().is_object() ? std::string(peek->root().find("model").as_string()) : std::string();
}

// The client's form: while the client is waited for, the program isn't.
class ClientForm final : public http::BodySource {
 public:
  ClientForm(http::BodySource& form, WatchedRequest& request) : form_(form), request_(request) {}
  async::Task<Result<std::string_view>> read() override {
    request_.client_works();
    const auto piece = co_await form_.read();
    request_.program_works();
    co_return piece;
  }
  void abort() override { form_.abort(); }
  std::optional<std::uint64_t> length() const override { return form_.length(); }

 private:
  http::BodySource& form_;
  WatchedRequest& request_;
};

}  // namespace

std::string in_their_words(std::string_view body, const Descriptor& descriptor, std::string_view name) {
  if (name.empty() && descriptor.strip.empty() && descriptor.set.empty()) return std::string(body);
  const std::string text(body);
  const auto peek = json::Peek::open(text);
  if (!peek || !peek->root().is_object()) return text;
  std::string out;
  out.reserve(text.size() + 64);
  json::Writer writer(out);
  writer.begin_object();
  if (!name.empty() && !descriptor.set.contains("model")) writer.field("model", name);
  peek->root().each_member([&](std::string_view field, json::View value) {
    const bool gone = (field == "model" && !name.empty()) || descriptor.set.contains(std::string(field)) ||
                      std::ranges::find(descriptor.strip, field) != descriptor.strip.end();
    if (!gone) writer.any_key(field).raw(value.text());
  });
  for (const auto& [field, value] : descriptor.set) writer.any_key(field).raw(value);
  writer.end_object();
  return out;
}

namespace {

std::string in_program_words(std::string_view body, const ExternalFormat& words, const protocol::AskRow* row) {
  auto theirs = in_their_words(body, *words.descriptor, words.name);
  const bool is_sd =
      words.descriptor->image_requests == ImageRequests::sd_cpp && row != nullptr && row->ask == protocol::Ask::image;
  return is_sd ? sd_body(theirs, random_seed()) : theirs;
}

}  // namespace

class ExternalTargets::Target final : public http::Target {
 public:
  Target(std::shared_ptr<const ExternalFormat> words, http::Client& client, bool always_asks)
      : words_(std::move(words)), client_(client), always_asks_(always_asks) {}

  async::Task<Result<http::Response>> send(const http::RequestHead& head, std::string_view body) override {
    const bool unchanged = head.headers.has(protocol::kUnchanged);
    if (!unchanged && head.method == "GET" && head.path() == "/health") co_return co_await alive();
    const auto there = head_for(head);
    if (!there) co_return refusal(there.error());
    if (unchanged) {
      auto passing =
          words_->requests->run([&](WatchedRequest&) { return client_.send(*there, body); }, head.method == "POST");
      co_return co_await std::move(passing);
    }
    std::string asked;
    const auto* const row = ask_of(head);
    auto asking = words_->requests->run([&](WatchedRequest&) { return ask(*there, body, row, asked); });
    auto answer = co_await std::move(asking);
    if (!answer) co_return answer;
    co_return named_answer(std::move(*answer), asked.empty() ? words_->model : asked);
  }

  async::Task<Result<http::Response>> upload(const http::RequestHead& head, http::BodySource& body) override {
    const auto there = head_for(head);
    if (!there) co_return refusal(there.error());
    const auto type = head.headers.get("Content-Type");
    auto asking =
        words_->requests->run([&](WatchedRequest& request) { return ask_with_form(*there, type, body, request); });
    co_return co_await std::move(asking);
  }

 private:
  async::Task<Result<http::Response>> ask(const http::RequestHead& there, std::string_view body,
                                          const protocol::AskRow* row, std::string& asked) {
    std::string theirs;
    if (body.size() > kSmallBody && words_->threads != nullptr) {
      // The work owns its input, because the caller may be cancelled.
      auto work = [text = std::string(body), words = words_, row] {
        return std::pair(in_program_words(text, *words, row), model_in(text));
      };
      std::tie(theirs, asked) = co_await words_->threads->run(std::move(work));
    } else {
      theirs = in_program_words(body, *words_, row);
      asked = model_in(body);
    }
    auto answer = co_await client_.send(there, theirs);
    if (!answer || answer->head.status < 400) co_return answer;
    co_return co_await refused(std::move(*answer));
  }

  async::Task<Result<http::Response>> ask_with_form(const http::RequestHead& there, std::string_view type,
                                                    http::BodySource& body, WatchedRequest& request) {
    ClientForm sent(body, request);
    ChangedForm form(sent, type, {words_->name, words_->descriptor->strip, words_->descriptor->set});
    const auto found = co_await form.find();
    if (!found) co_return std::unexpected(found.error());
    auto sending = uploaded(there, type, form);
    auto answer = co_await std::move(sending);
    if (!answer || answer->head.status < 400) co_return answer;
    co_return co_await refused(std::move(*answer));
  }

  async::Task<Result<http::Response>> uploaded(const http::RequestHead& there, std::string_view type,
                                               http::BodySource& form) {
    if (words_->descriptor->image_requests != ImageRequests::sd_cpp) co_return co_await client_.upload(there, form);
    SdForm theirs(form, type, random_seed());
    auto finding = theirs.find();
    const auto found = co_await std::move(finding);
    if (!found) co_return std::unexpected(found.error());
    co_return co_await client_.upload(there, theirs);
  }

  // The error of the program.
  async::Task<http::Response> refused(http::Response answer) {
    auto reading = answer.body.read_all(kMaxErrorBody);
    const auto text = co_await std::move(reading);
    auto body = openai_error(answer.head.status, text.value_or(""),
                             fmt::format("the backend '{}' of '{}'", words_->descriptor->recipe, words_->model));
    auto response = http::Response::json(answer.head.status, std::move(body));
    if (answer.head.headers.has("Retry-After"))
      response.head.headers.add("Retry-After", answer.head.headers.get("Retry-After"));
    co_return response;
  }

  async::Task<Result<http::Response>> alive() {
    if (!always_asks_ &&
        (words_->requests->restarting() || !words_->descriptor->watch || words_->descriptor->ready.path.empty()))
      co_return http::Response::json(200, R"({"status":"ok"})");
    http::RequestHead head{"GET", words_->base + words_->descriptor->ready.path, {}};
    for (const auto& [name, value] : words_->headers) head.headers.add(name, value);
    co_return co_await client_.send(head, {});
  }

  // With the headers that a program gets.
  http::RequestHead to_program(const http::RequestHead& head, std::string path) const {
    http::RequestHead theirs{head.method, std::move(path), {}};
    for (const std::string_view name : {"Content-Type", "Accept", "X-Request-Id"}) {
      if (head.headers.has(name)) theirs.headers.add(name, head.headers.get(name));
    }
    for (const auto& [name, value] : words_->headers) theirs.headers.add(name, value);
    return theirs;
  }

  Result<http::RequestHead> head_for(const http::RequestHead& head) const {
    // Without the base: the caller knows the whole path.
    if (head.headers.has(protocol::kUnchanged)) return to_program(head, head.target);
    const auto* const row = ask_of(head);
    const auto path = row == nullptr ? words_->descriptor->paths.end() : words_->descriptor->paths.find(row->ask);
    if (path == words_->descriptor->paths.end()) {
      return std::unexpected(not_served(words_->model, *words_->descriptor,
                                        row == nullptr ? head.path() : std::string_view(name_of(row->ask))));
    }
    return to_program(head, words_->base + path->second);
  }

  const std::shared_ptr<const ExternalFormat> words_;
  http::Client& client_;
  const bool always_asks_;
};

ExternalTargets::ExternalTargets(const Clock& clock, std::shared_ptr<const ExternalFormat> words,
                                 http::Endpoint endpoint)
    : words_(std::move(words)), clients_(clock, std::move(endpoint)) {}

ExternalTargets::~ExternalTargets() = default;

http::Target& ExternalTargets::on(async::Executor executor) { return at(executor, false); }
http::Target& ExternalTargets::probe(async::Executor executor) { return at(executor, true); }

ExternalTargets::Target& ExternalTargets::at(async::Executor executor, bool probe) {
  http::Client& client = clients_.on(executor);
  const MutexLock lock(mutex_);
  auto& list = probe ? probes_ : targets_;
  for (auto& [loop, target] : list) {
    if (&loop.context() == &executor.context()) return *target;
  }
  return *list.emplace_back(executor, std::make_unique<Target>(words_, client, probe)).second;
}

}  // namespace corral::backends
