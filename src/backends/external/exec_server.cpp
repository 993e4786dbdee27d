#include "backends/external/exec_server.h"

#include <csignal>

#include <fmt/format.h>

#include "async/task_group.h"
#include "backends/external/errors.h"
#include "backends/external/external_target.h"
#include "json/peek.h"
#include "protocol/errors.h"

namespace corral::backends {
namespace {

constexpr std::size_t kLongestRequestWord = 256;
constexpr std::size_t kMaxRequestWords = 64;
constexpr std::size_t kLastLines = 4;

// The process of one request. It writes its input while it reads its output: both may be larger than a pipe.
class ExecBody final : public http::BodySource {
 public:
  ExecBody(async::Executor executor, std::unique_ptr<proc::Child> child, std::string input)
      : child_(std::move(child)), feeding_(executor) {
    feeding_.spawn("input of a program", feed(child_, std::move(input)));
  }
  ~ExecBody() override { feeding_.cancel(); }

  async::Task<Result<std::string_view>> read() override {
    if (!first_.empty()) {
      piece_ = std::exchange(first_, {});
      co_return std::string_view(piece_);
    }
    if (ended_) co_return std::string_view();
    auto piece = co_await child_->read_output();
    if (!piece) co_return std::unexpected(piece.error());
    piece_ = std::move(*piece);
    if (!piece_.empty()) co_return std::string_view(piece_);
    ended_ = true;
    const auto status = co_await child_->wait();
    if (!status.success()) co_return std::unexpected(failure(status));
    co_return std::string_view();
  }
  void abort() override { child_->kill(SIGKILL); }

  // Waits for the first output: until then a failure can still be reported.
  async::Task<Result<>> begin() {
    const auto piece = co_await read();
    if (!piece) co_return std::unexpected(piece.error());
    first_ = *piece;
    co_return Result<>();
  }

 private:
  static async::Task<void> feed(std::shared_ptr<proc::Child> child, std::string input) {
    // A program may stop reading early: that is no error.
    (void)co_await child->write_input(std::move(input));
    child->close_input();
  }

  Error failure(const proc::ExitStatus& status) const {
    auto text = fmt::format("the program of this request failed: {}", status.describe());
    const auto output = child_->log().text(kLastLines);
    if (!output.empty()) text += "; its last output: " + output;
    return {make_error_code(external::errc::request_failed), std::move(text)};
  }

  const std::shared_ptr<proc::Child> child_;
  std::string first_, piece_;
  bool ended_ = false;
  async::TaskGroup feeding_;
};

}  // namespace

Result<std::map<std::string, std::string>> request_values(std::string_view body) {
  std::map<std::string, std::string> values;
  const std::string text(body);
  const auto peek = json::Peek::open(text);
  if (!peek || !peek->root().is_object()) return fail(protocol::errc::wrong_type, "the body must be a JSON object");
  peek->root().each_member([&](std::string_view name, json::View value) {
    if (values.size() >= kMaxRequestWords) return;
    const bool number = value.kind() == json::Kind::integer || value.kind() == json::Kind::number;
    if (!number && !value.is_string()) return;
    std::string word = number ? value.text() : std::string(value.as_string());
    const bool plain =
        word.size() <= kLongestRequestWord && word.find('\0') == word.npos && (number || !word.starts_with('-'));
    if (plain) values["request." + std::string(name)] = std::move(word);
  });
  return values;
}

class ExecServer::Target final : public http::Target {
 public:
  Target(ExternalBackend& backend, ModelPtr model, DescriptorPtr descriptor, PlaceholderValues values,
         std::shared_ptr<RequestReports> reports)
      : backend_(backend),
        model_(std::move(model)),
        descriptor_(std::move(descriptor)),
        values_(std::move(values)),
        requests_(backend_.timers_, *descriptor_, model_->name.value(), std::move(reports)) {}

  async::Task<Result<http::Response>> send(const http::RequestHead& head, std::string_view body) override {
    if (head.method == "GET") co_return http::Response::json(200, R"({"status":"ok"})");
    auto work = work_of(head, body);
    if (!work) co_return refusal(work.error());
    auto asking = requests_.run([&](WatchedRequest&) { return answer(std::move(*work)); });
    co_return co_await std::move(asking);
  }

  async::Task<Result<http::Response>> upload(const http::RequestHead& head, http::BodySource&) override {
    co_return refusal(not_served(model_->name.value(), *descriptor_, head.path()));
  }

  void give_up() { requests_.give_up(); }

 private:
  struct Work {
    std::vector<std::string> argv;
    std::string input;
  };

  async::Task<Result<http::Response>> answer(Work work) {
    const auto executor = co_await async::asio::this_coro::executor;
    auto spec = backend_.spec_of(*descriptor_, std::move(work.argv), values_);
    spec.pipes = true;
    auto child = co_await backend_.spawner_.spawn(std::move(spec));
    if (!child) co_return refusal(Error(make_error_code(errc::backend_not_installed), child.error().message));
    auto output = std::make_unique<ExecBody>(executor, std::move(*child), std::move(work.input));
    const auto begun = co_await output->begin();
    if (!begun) co_return refusal(begun.error());
    http::Response response;
    response.head.headers.add("Content-Type", descriptor_->output);
    response.body = http::Body(std::move(output));
    co_return response;
  }

  Result<Work> work_of(const http::RequestHead& head, std::string_view body) const {
    const auto* const row = ask_of(head);
    if (row == nullptr || row->type != model_->type)
      return std::unexpected(not_served(model_->name.value(), *descriptor_, head.path()));
    // The program gets no name of a model, so the client's stays.
    const std::string text = in_their_words(body, *descriptor_, {});
    const auto peek = json::Peek::open(text);
    const auto input = peek && peek->root().is_object() ? peek->root().find(descriptor_->input) : json::View();
    if (!input.is_string()) {
      return fail(protocol::errc::missing_field, fmt::format("'{}' must be a string", descriptor_->input),
                  descriptor_->input);
    }
    auto of_request = request_values(text);
    if (!of_request) return std::unexpected(of_request.error());
    auto values = values_;
    for (auto& [name, value] : *of_request) values.texts[name] = std::move(value);
    auto argv = expand(descriptor_->command, values);
    if (!argv) return std::unexpected(argv.error());
    return Work{std::move(*argv), std::string(input.as_string())};
  }

  ExternalBackend& backend_;
  const ModelPtr model_;
  const DescriptorPtr descriptor_;
  const PlaceholderValues values_;
  ExternalRequests requests_;
};

ExecServer::ExecServer(ExternalBackend& backend, ModelPtr model, DescriptorPtr descriptor, LoadOptions options)
    : backend_(backend),
      model_(std::move(model)),
      descriptor_(std::move(descriptor)),
      options_(std::move(options)),
      let_go_(backend.home_) {}

ExecServer::~ExecServer() = default;

async::Task<Result<>> ExecServer::load(Hooks hooks) {
  const auto program = backend_.program_of(*descriptor_);
  if (!program) co_return std::unexpected(program.error());
  reports_ = RequestReports::make(backend_.home_, std::move(hooks.request_done));
  target_ = std::make_unique<Target>(backend_, model_, descriptor_,
                                     backend_.values_for(*model_, *descriptor_, options_), reports_);
  co_return Result<>();
}

async::Task<void> ExecServer::stop(Millis) {
  if (target_) target_->give_up();
  if (reports_) reports_->close();
  let_go_.set();
  co_return;
}

async::Task<std::string> ExecServer::wait_for_exit() {
  co_await let_go_.wait();
  co_return "it was detached";
}

http::Target& ExecServer::target(async::Executor) { return *target_; }

ServerFacts ExecServer::facts() const {
  ServerFacts facts;
  if (const auto program = backend_.program_of(*descriptor_)) facts.launch_command = {program->native()};
  facts.device = Device::cpu;
  return facts;
}

}  // namespace corral::backends
