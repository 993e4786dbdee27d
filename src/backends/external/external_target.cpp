#include "backends/external/external_target.h"

#include <algorithm>

#include "backends/external/form_name.h"
#include "json/peek.h"
#include "json/writer.h"

namespace corral::backends {
namespace {

// Larger bodies are translated off the loop.
constexpr std::size_t kSmallBody = 64 * 1024;

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

std::string in_their_words(std::string_view body, const ExternalFormat& words) {
  const auto& descriptor = *words.descriptor;
  if (words.name.empty() && descriptor.strip.empty() && descriptor.set.empty()) return std::string(body);
  const std::string text(body);
  const auto peek = json::Peek::open(text);
  if (!peek || !peek->root().is_object()) return text;
  std::string out;
  out.reserve(text.size() + 64);
  json::Writer writer(out);
  writer.begin_object();
  if (!words.name.empty() && !descriptor.set.contains("model")) writer.field("model", words.name);
  peek->root().each_member([&](std::string_view name, json::View value) {
    const bool gone = (name == "model" && !words.name.empty()) || descriptor.set.contains(std::string(name)) ||
                      std::ranges::find(descriptor.strip, name) != descriptor.strip.end();
    if (!gone) writer.any_key(name).raw(value.text());
  });
  for (const auto& [name, value] : descriptor.set) writer.any_key(name).raw(value);
  writer.end_object();
  return out;
}

class ExternalTargets::Target final : public http::Target {
 public:
  Target(std::shared_ptr<const ExternalFormat> words, http::Client& client, bool always_asks)
      : words_(std::move(words)), client_(client), always_asks_(always_asks) {}

  async::Task<Result<http::Response>> send(const http::RequestHead& head, std::string_view body) override {
    if (head.method == "GET" && head.path() == "/health") co_return co_await alive();
    const auto there = head_for(head);
    if (!there) co_return refusal(there.error());
    auto asking = words_->requests->run([&](WatchedRequest&) { return ask(*there, body); });
    co_return co_await std::move(asking);
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
  async::Task<Result<http::Response>> ask(const http::RequestHead& there, std::string_view body) {
    std::string theirs;
    if (body.size() > kSmallBody && words_->threads != nullptr) {
      // The work owns its input, because the caller may be cancelled.
      auto work = [text = std::string(body), words = words_] { return in_their_words(text, *words); };
      theirs = co_await words_->threads->run(std::move(work));
    } else {
      theirs = in_their_words(body, *words_);
    }
    co_return co_await client_.send(there, theirs);
  }

  async::Task<Result<http::Response>> ask_with_form(const http::RequestHead& there, std::string_view type,
                                                    http::BodySource& body, WatchedRequest& request) {
    ClientForm sent(body, request);
    RenamedForm form(sent, type, words_->name);
    const auto found = co_await form.find();
    if (!found) co_return std::unexpected(found.error());
    co_return co_await client_.upload(there, form);
  }

  async::Task<Result<http::Response>> alive() {
    if (!always_asks_ && (!words_->descriptor->watch || words_->descriptor->ready.path.empty()))
      co_return http::Response::json(200, R"({"status":"ok"})");
    http::RequestHead head{"GET", words_->base + words_->descriptor->ready.path, {}};
    for (const auto& [name, value] : words_->headers) head.headers.add(name, value);
    co_return co_await client_.send(head, {});
  }

  Result<http::RequestHead> head_for(const http::RequestHead& head) const {
    const auto* const row = ask_of(head);
    const auto path = row == nullptr ? words_->descriptor->paths.end() : words_->descriptor->paths.find(row->ask);
    if (path == words_->descriptor->paths.end()) {
      return std::unexpected(not_served(words_->model, *words_->descriptor,
                                        row == nullptr ? head.path() : std::string_view(name_of(row->ask))));
    }
    http::RequestHead theirs{head.method, words_->base + path->second, {}};
    for (const std::string_view name : {"Content-Type", "X-Request-Id"}) {
      if (head.headers.has(name)) theirs.headers.add(name, head.headers.get(name));
    }
    for (const auto& [name, value] : words_->headers) theirs.headers.add(name, value);
    return theirs;
  }

  const std::shared_ptr<const ExternalFormat> words_;
  http::Client& client_;
  const bool always_asks_;
};

ExternalTargets::ExternalTargets(std::shared_ptr<const ExternalFormat> words, http::Endpoint endpoint)
    : words_(std::move(words)), clients_(std::move(endpoint)) {}

ExternalTargets::~ExternalTargets() = default;

http::Target& ExternalTargets::on(async::Executor executor) { return at(targets_, executor, false); }
http::Target& ExternalTargets::probe(async::Executor executor) { return at(probes_, executor, true); }

ExternalTargets::Target& ExternalTargets::at(std::vector<std::pair<async::Executor, std::unique_ptr<Target>>>& list,
                                             async::Executor executor, bool always_asks) {
  http::Client& client = clients_.on(executor);
  const std::scoped_lock lock(mutex_);
  for (auto& [loop, target] : list) {
    if (&loop.context() == &executor.context()) return *target;
  }
  return *list.emplace_back(executor, std::make_unique<Target>(words_, client, always_asks)).second;
}

}  // namespace corral::backends
