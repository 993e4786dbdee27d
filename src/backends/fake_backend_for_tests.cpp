#include "backends/fake_backend_for_tests.h"

#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>

#include "http/errors.h"

namespace corral::backends {

using async::Task;

// ---- requests

void FakeRequest::answer(unsigned status, std::string text) {
  response_ = http::Response::json(status, std::move(text));
  ended_ = true;
  changed_.set();
}

void FakeRequest::read_more() {
  ++may_read_;
  changed_.set();
}

void FakeRequest::begin_stream(unsigned status, std::string_view type) {
  response_ = http::Response::event_stream(nullptr);
  response_->head.status = status;
  response_->head.headers.set("Content-Type", type);
  streams_ = true;
  changed_.set();
}

void FakeRequest::send(std::string piece) {
  if (!response_) begin_stream();
  pieces_.push_back(std::move(piece));
  changed_.set();
}

void FakeRequest::end() {
  if (!response_) begin_stream();
  ended_ = true;
  changed_.set();
}

void FakeRequest::break_off(std::optional<Error> cause) {
  if (over()) return;
  broken_ = true;
  cause_ = std::move(cause);
  changed_.set();
}

// Sends the test's pieces. Marks the request as dropped if it is destroyed before its end.
class FakeBody final : public http::BodySource {
 public:
  explicit FakeBody(std::shared_ptr<FakeRequest> request) : request_(std::move(request)) {}
  ~FakeBody() override {
    if (!request_->over()) request_->dropped_ = true;
  }

  Task<Result<std::string_view>> read() override {
    auto& request = *request_;
    while (request.pieces_.empty() && !request.over()) {
      request.changed_.reset();
      co_await request.changed_.wait();
    }
    if (!request.pieces_.empty()) co_return take();
    if (request.cause_) co_return std::unexpected(*request.cause_);
    if (request.broken_ || request.dropped_)
      co_return fail(http::errc::truncated, "the connection was closed in the middle of the body");
    co_return std::string_view();
  }
  std::string_view take_ready() override { return request_->pieces_.empty() ? std::string_view() : take(); }
  void abort() override {
    if (request_->over()) return;
    request_->dropped_ = true;
    request_->changed_.set();
  }

 private:
  std::string_view take() {
    piece_ = std::move(request_->pieces_.front());
    request_->pieces_.pop_front();
    return piece_;
  }

  const std::shared_ptr<FakeRequest> request_;
  std::string piece_;
};

class FakeTarget final : public http::Target {
 public:
  explicit FakeTarget(FakeServer& server) : server_(server) {}

  Task<Result<http::Response>> send(const http::RequestHead& head, std::string_view body) override {
    if (server_.state_ != FakeServer::State::ready) co_return fail(http::errc::connect_failed, "no server listens");
    if (server_.backend_.reply) {
      ++server_.replies_;
      co_return server_.backend_.reply(server_, head, body);
    }
    const auto request = asked(head, std::string(body));
    const Asking asking{*request};
    co_return co_await answer_of(request);
  }

  Task<Result<http::Response>> upload(const http::RequestHead& head, http::BodySource& body) override {
    if (server_.state_ != FakeServer::State::ready) co_return fail(http::errc::connect_failed, "no server listens");
    const auto request = asked(head, {});
    const Asking asking{*request};
    while (!request->upload_ended_ && !request->response_ && !request->broken_) {
      if (request->may_read_ == 0) {
        request->changed_.reset();
        co_await request->changed_.wait();
        continue;
      }
      --request->may_read_;
      const auto piece = co_await body.read();
      if (!piece) co_return std::unexpected(piece.error());
      request->upload_ended_ = piece->empty();
      if (!piece->empty()) request->uploaded_.emplace_back(*piece);
    }
    co_return co_await answer_of(request);
  }

 private:
  // Marks the request as dropped if the client is cancelled.
  struct Asking {
    FakeRequest& request;
    ~Asking() {
      if (!request.response_ && !request.over()) request.dropped_ = true;
    }
  };

  std::shared_ptr<FakeRequest> asked(const http::RequestHead& head, std::string body) {
    server_.requests_.push_back(std::make_shared<FakeRequest>(server_.backend_.executor_, head, std::move(body)));
    return server_.requests_.back();
  }

  static Task<Result<http::Response>> answer_of(std::shared_ptr<FakeRequest> request) {
    while (!request->response_ && !request->broken_) {
      request->changed_.reset();
      co_await request->changed_.wait();
    }
    if (!request->response_ && request->cause_) co_return std::unexpected(*request->cause_);
    if (!request->response_) co_return fail(http::errc::peer_closed, "the connection was closed");
    auto response = std::move(*request->response_);
    if (request->streams_) response.body = http::Body(std::make_unique<FakeBody>(request));
    co_return response;
  }

  FakeServer& server_;
};

// ---- servers

FakeServer::FakeServer(FakeBackend& backend, ModelPtr model, LoadOptions options)
    : backend_(backend),
      model_(std::move(model)),
      options_(std::move(options)),
      load_ended_(backend.executor_),
      may_stop_(backend.executor_),
      gone_(backend.executor_) {}

void FakeServer::progress(double fraction) {
  if (hooks_.progress) hooks_.progress(fraction);
}

void FakeServer::finish_load() {
  load_result_.emplace();
  load_ended_.set();
}

void FakeServer::fail_load(Error error) {
  load_result_.emplace(std::unexpected(std::move(error)));
  load_ended_.set();
}

void FakeServer::die(std::string how) {
  if (!load_result_)
    fail_load({make_error_code(errc::load_crashed), fmt::format("the server of '{}' {}", model(), how)});
  end(std::move(how));
}

void FakeServer::let_stop() { may_stop_.set(); }

void FakeServer::report(const RequestStats& stats) {
  if (hooks_.request_done) hooks_.request_done(stats);
}

std::size_t FakeServer::running() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(requests_, [](const auto& request) { return !request->over(); }));
}

void FakeServer::end(std::string how) {
  if (state_ == State::gone) return;
  state_ = State::gone;
  end_ = std::move(how);
  for (const auto& request : requests_) request->break_off();
  gone_.set();
}

// The router's side of a fake server.
class FakeWrappedServer final : public WrappedServer {
 public:
  explicit FakeWrappedServer(std::shared_ptr<FakeServer> server) : server_(std::move(server)), target_(*server_) {}
  ~FakeWrappedServer() override {
    server_->hooks_ = {};
    server_->end("killed by the router");
  }

  Task<Result<>> load(Hooks hooks) override {
    const auto server = server_;
    server->hooks_ = std::move(hooks);
    server->state_ = FakeServer::State::loading;
    struct Killed {
      FakeServer& server;
      ~Killed() {
        if (server.state_ == FakeServer::State::loading) server.end("killed while it loaded");
      }
    } const killed{*server};
    if (!server->backend_.load_at_once) {
      co_await server->load_ended_.wait();
      if (!*server->load_result_) co_return *server->load_result_;
    }
    server->load_result_.emplace();
    if (server->alive()) server->state_ = FakeServer::State::ready;
    co_return Result<>();
  }

  Task<void> stop(Millis grace) override {
    const auto server = server_;
    server->stops_.push_back(grace);
    const bool waits = !server->backend_.stop_at_once && grace > Millis(0) && server->alive();
    if (waits) co_await server->may_stop_.wait();
    server->state_ == FakeServer::State::loading ? server->die("was stopped") : server->end("exited with code 0");
  }

  bool is_askable() const override { return server_->backend_.askable; }

  Task<bool> downsize() override {
    ++server_->downsizes_;
    co_return server_->backend_.downsizes;
  }

  Task<std::string> wait_for_exit() override {
    const auto server = server_;
    co_await server->gone_.wait();
    co_return server->end_;
  }

  std::optional<LastWork> last_work() const override { return server_->last_work; }

  http::Target& target(async::Executor) override { return target_; }

  ServerFacts facts() const override {
    if (!server_->alive()) return {};
    return {.pid = 4711,
            .launch_command = {"fake", server_->model()},
            .backend_url = "fake:" + server_->model(),
            .context_window = server_->backend_.context(*server_->model_, server_->options_, 0),
            .memory_bytes = 1024,
            .device = server_->computes_on};
  }
  std::filesystem::path log_file() const override { return server_->log_file; }
  std::uint64_t work() const override { return server_->work_; }

 private:
  const std::shared_ptr<FakeServer> server_;
  FakeTarget target_;
};

// ---- the backend

Result<http::Response> FakeBackend::echo(const FakeServer& server, const http::RequestHead& head,
                                         std::string_view body) {
  return http::Response::json(
      200, fmt::format(R"({{"model":"{}","path":"{}","body":{}}})", server.model(), head.target, body));
}

Result<LoadOptions> FakeBackend::resolve(const models::ModelInfo& model, const LoadOptions& options) const {
  if (const auto found = refused.find(model.name.value()); found != refused.end())
    return std::unexpected(found->second);
  return merge(options, LoadOptions{-1, 16, 0, -1, ""});
}

Task<Result<>> FakeBackend::check_files(ModelPtr model, LoadOptions) {
  ++looks;
  last_seen = on_disk;
  async::Event never(executor_);
  if (silent_files.contains(model->name.value())) co_await never.wait();
  if (missing_files.contains(model->name.value())) co_return fail(errc::model_file_not_found, "no file", "model");
  co_return Result<>();
}

Device FakeBackend::device(const models::ModelInfo& model, const LoadOptions& options, Device machine) const {
  if (const auto found = devices.find(model.name.value()); found != devices.end()) return found->second;
  return options.gpu_layers != 0 && has(machine, Device::gpu) ? Device::gpu : Device::cpu;
}

Task<Result<MemoryEstimate>> FakeBackend::estimate(ModelPtr model, LoadOptions) {
  ++asked;
  const auto found = estimates.find(model->name.value());
  if (found == estimates.end())
    co_return fail(errc::load_failed, "there is no fake estimate for " + model->name.value());
  co_return found->second;
}

std::optional<MemoryEstimate> FakeBackend::known_estimate(const models::ModelInfo& model, const LoadOptions&) const {
  const auto found = estimates.find(model.name.value());
  return found == estimates.end() || !knows_estimates ? std::nullopt : std::optional(found->second);
}

std::uint64_t FakeBackend::context(const models::ModelInfo& model, const LoadOptions& options, std::uint64_t) const {
  const auto tokens = options.ctx_size.value_or(-1);
  if (tokens <= 0) return usual_context;
  const auto trained = model.traits.context_length;
  const auto max = std::min(max_context, trained == 0 ? max_context : trained);
  return std::min(static_cast<std::uint64_t>(tokens), max);
}

std::uint64_t FakeBackend::rough_bound(const models::ModelInfo&, const LoadOptions&) const { return bound; }

Task<Result<>> FakeBackend::preflight(ModelPtr model, LoadOptions) {
  const auto found = never_fit.find(model->name.value());
  if (found != never_fit.end()) co_return std::unexpected(found->second);
  co_return Result<>();
}

std::unique_ptr<WrappedServer> FakeBackend::create(ModelPtr model, const LoadOptions& options) {
  if (unstartable.contains(model->name.value())) throw std::runtime_error("it can't be started");
  servers_.push_back(std::make_shared<FakeServer>(*this, std::move(model), options));
  return std::make_unique<FakeWrappedServer>(servers_.back());
}

std::unique_ptr<WrappedServer> FakeBackend::create_checker(ModelPtr model, const LoadOptions& options) {
  if (!checks) return nullptr;
  auto named = *model;
  named.name = ModelName("checker of " + model->name.value());
  return create(std::make_shared<const models::ModelInfo>(std::move(named)), options);
}

Task<void> FakeBackend::stop() { co_return; }

FakeServer& FakeBackend::server(std::string_view model) const {
  for (auto at = servers_.rbegin(); at != servers_.rend(); ++at) {
    if ((*at)->model() == model) return **at;
  }
  throw std::logic_error(fmt::format("no server of '{}' was ever made", model));
}

std::size_t FakeBackend::loads(std::string_view model) const {
  return static_cast<std::size_t>(
      std::ranges::count_if(servers_, [&](const auto& server) { return server->model() == model; }));
}

std::vector<std::string> FakeBackend::alive() const {
  std::vector<std::string> names;
  for (const auto& server : servers_) {
    const auto state = server->state();
    if (state == FakeServer::State::loading || state == FakeServer::State::ready) names.push_back(server->model());
  }
  return names;
}

ModelPtr fake_model(std::string name, ModelType type, std::string recipe) {
  models::ModelInfo model;
  model.name = ModelName(std::move(name));
  model.checkpoint = model.name.value() + ".gguf";
  model.recipe = std::move(recipe);
  model.type = type;
  return std::make_shared<const models::ModelInfo>(std::move(model));
}

}  // namespace corral::backends
