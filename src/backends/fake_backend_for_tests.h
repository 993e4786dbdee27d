// Fake backends for tests of everything above this folder: no process, no socket, no time.
//
//   FakeBackend backend(loop.executor());
//   ... a request makes the router load "a" ...
//   backend.server("a").finish_load();
//   backend.server("a").request().answer(200, "{}");
//   backend.server("a").die("killed by signal 9 (SIGKILL)");
//
// All on one loop, except requests that `reply` answers: those may be on any loop.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "async/event.h"
#include "backends/wrapped_server.h"

namespace corral::backends {

// One request to a fake server; the test controls its response. Stays valid after the client has gone.
class FakeRequest {
 public:
  FakeRequest(async::Executor executor, http::RequestHead head, std::string body)
      : head_(std::move(head)), body_(std::move(body)), changed_(executor) {}

  const http::RequestHead& head() const { return head_; }
  const std::string& body() const { return body_; }

  // Reads one more piece of an upload; its end is a piece, too.
  void read_more();
  const std::vector<std::string>& uploaded() const { return uploaded_; }
  bool upload_ended() const { return upload_ended_; }

  // The whole response as JSON, or its head and then piece by piece. No effect after the end of the request.
  void answer(unsigned status, std::string text);
  void begin_stream(unsigned status = 200, std::string_view type = "text/event-stream");
  void send(std::string piece);
  void end();
  // The connection breaks: before the head, or in the middle of the body. `cause`: the error that the target returns;
  // unset: that of a closed connection.
  void break_off(std::optional<Error> cause = {});

  // The client has left before the end.
  bool dropped() const { return dropped_; }
  bool broken() const { return broken_; }
  bool over() const { return ended_ || broken_ || dropped_; }

 private:
  friend class FakeTarget;
  friend class FakeBody;

  const http::RequestHead head_;
  const std::string body_;
  std::vector<std::string> uploaded_;
  std::size_t may_read_ = 0;
  bool upload_ended_ = false;
  std::optional<http::Response> response_;  // its head, and the body unless it streams
  std::deque<std::string> pieces_;
  bool streams_ = false;
  bool ended_ = false;
  bool broken_ = false;
  std::optional<Error> cause_;
  bool dropped_ = false;
  async::Event changed_;
};

class FakeBackend;

// One fake server, from the start of its load to its end. Stays valid after the router has forgotten it.
class FakeServer {
 public:
  enum class State { created, loading, ready, gone };

  FakeServer(FakeBackend& backend, ModelPtr model, LoadOptions options);

  const std::string& model() const { return model_->name.value(); }
  const LoadOptions& options() const { return options_; }
  State state() const { return state_; }
  bool alive() const { return state_ != State::gone; }
  // The device that the process reports once it is ready.
  Device computes_on = Device::none;
  // The arguments of stop(), in order.
  const std::vector<Millis>& stops() const { return stops_; }

  // Controls the load, unless the backend loads at once.
  void progress(double fraction);
  // The answer of log_file().
  std::filesystem::path log_file;
  // Its process works, without output.
  void work() { ++work_; }
  void finish_load();
  void fail_load(Error error);
  // The report of its requests at its end; empty: such processes don't report.
  std::optional<LastWork> last_work = {};
  // Ends unexpectedly, now: a load fails with load_crashed, running requests break off.
  void die(std::string how = "killed by signal 9 (SIGKILL)");
  // Number of calls of downsize(); its answer is the backend's `downsizes`.
  std::size_t downsizes() const { return downsizes_; }
  // Completes stop(), unless the backend stops at once.
  void let_stop();
  // Reports the usage of a request to the router.
  void report(const RequestStats& stats);

  // All requests so far, except those that `reply` answered; the newest one.
  const std::vector<std::shared_ptr<FakeRequest>>& requests() const { return requests_; }
  FakeRequest& request() const { return *requests_.back(); }
  // Requests that haven't ended.
  std::size_t running() const;
  std::size_t replies() const { return replies_; }

 private:
  friend class FakeWrappedServer;
  friend class FakeTarget;
  void end(std::string how);

  FakeBackend& backend_;
  const ModelPtr model_;
  const LoadOptions options_;
  std::atomic<State> state_ = State::created;
  WrappedServer::Hooks hooks_;
  std::optional<Result<>> load_result_;
  async::Event load_ended_, may_stop_, gone_;
  std::string end_;
  std::vector<Millis> stops_;
  std::size_t downsizes_ = 0;
  std::uint64_t work_ = 0;
  std::vector<std::shared_ptr<FakeRequest>> requests_;
  std::atomic<std::size_t> replies_ = 0;
};

class FakeBackend final : public Backend {
 public:
  using Reply =
      std::function<Result<http::Response>(const FakeServer&, const http::RequestHead&, std::string_view body)>;

  explicit FakeBackend(async::Executor executor, std::string recipe = "llamacpp")
      : executor_(executor), recipe_(std::move(recipe)) {}

  bool load_at_once = false;
  bool stop_at_once = true;  // else stop() with a grace waits for let_stop()
  bool downsizes = true;     // the answer of downsize()
  // Answers every request at once; unset: requests wait for the test. Called on the loop of the request.
  Reply reply;
  // Error of resolve() for a model of this name.
  std::map<std::string, Error> refused;
  // Models for which check_files() never returns.
  std::set<std::string> silent_files;
  // Models whose files are missing.
  std::set<std::string> missing_files;
  std::size_t looks = 0;        // calls of check_files()
  std::uint64_t on_disk = 0;    // files_state() after the next call
  std::uint64_t last_seen = 0;  // files_state() until then
  // Answers of preflight() and estimate() by model.
  std::map<std::string, Error> never_fit;
  std::map<std::string, MemoryEstimate> estimates;
  bool knows_estimates = true;            // known_estimate() has them
  std::uint64_t bound = 0;                // the answer of rough_bound()
  std::optional<GivenMemory> given = {};  // the answer of given_memory()
  bool askable = true;                    // is_askable() of its servers
  // The answer of context(), and the context of its processes, if ctx_size isn't set.
  std::uint64_t usual_context = 2048;
  std::uint64_t max_context = ~0ull;  // upper limit of any context
  std::size_t asked = 0;              // calls of estimate()
  // Answers of device() by model; for others it is the answer of an engine that supports all devices of the machine.
  std::map<std::string, Device> devices;
  // Whether create_checker() creates servers; they are called "checker of NAME".
  bool checks = false;
  // Models for which create() throws.
  std::set<std::string> unstartable;

  // {"model":NAME,"path":PATH,"body":BODY}, BODY as it is.
  static Result<http::Response> echo(const FakeServer& server, const http::RequestHead& head, std::string_view body);

  std::string_view recipe() const override { return recipe_; }
  Result<LoadOptions> resolve(const models::ModelInfo& model, const LoadOptions& options) const override;
  async::Task<Result<>> check_files(ModelPtr model, LoadOptions options) override;
  std::uint64_t files_state(const models::ModelInfo&, const LoadOptions&) const override { return last_seen; }
  Device device(const models::ModelInfo& model, const LoadOptions& options, Device machine) const override;
  async::Task<Result<MemoryEstimate>> estimate(ModelPtr model, LoadOptions options) override;
  std::optional<MemoryEstimate> known_estimate(const models::ModelInfo& model,
                                               const LoadOptions& options) const override;
  std::optional<GivenMemory> given_memory(const models::ModelInfo&, const LoadOptions&, Device) const override {
    return given;
  }
  std::uint64_t context(const models::ModelInfo& model, const LoadOptions& options, std::uint64_t free) const override;
  std::uint64_t rough_bound(const models::ModelInfo& model, const LoadOptions& options) const override;
  async::Task<Result<>> preflight(ModelPtr model, LoadOptions options) override;
  std::unique_ptr<WrappedServer> create(ModelPtr model, const LoadOptions& options) override;
  std::unique_ptr<WrappedServer> create_checker(ModelPtr model, const LoadOptions& options) override;
  async::Task<void> stop() override;

  // All servers so far, in order of creation; the newest one of a model.
  const std::vector<std::shared_ptr<FakeServer>>& servers() const { return servers_; }
  FakeServer& server(std::string_view model) const;
  std::size_t loads(std::string_view model) const;
  // Loading or ready.
  std::vector<std::string> alive() const;

 private:
  friend class FakeServer;
  friend class FakeTarget;
  const async::Executor executor_;
  const std::string recipe_;
  std::vector<std::shared_ptr<FakeServer>> servers_;
};

// A model without files, for tests without a registry.
ModelPtr fake_model(std::string name, ModelType type = ModelType::llm, std::string recipe = "llamacpp");

}  // namespace corral::backends
