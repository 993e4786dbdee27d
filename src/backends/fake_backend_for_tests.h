// Backends that are played, for tests of everything above this folder: no process, no socket, no time.
//
//   FakeBackend backend(loop.executor());
//   ... a request makes the router load "a" ...
//   backend.server("a").finish_load();
//   backend.server("a").request().answer(200, "{}");
//   backend.server("a").die("killed by signal 9 (SIGKILL)");
//
// All on one loop, but for requests that `reply` answers: those may come on any loop.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "async/event.h"
#include "backends/wrapped_server.h"

namespace corral::backends {

// One request at a played server and the test's hand on its answer. Stays valid when the asker has gone.
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

  // The whole answer as JSON, or its head and then piece by piece. Without effect once the request is over.
  void answer(unsigned status, std::string text);
  void begin_stream(unsigned status = 200, std::string_view type = "text/event-stream");
  void send(std::string piece);
  void end();
  // The connection breaks: before the head, or in the middle of the body.
  void break_off();

  // The asker has given up before the end.
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
  bool dropped_ = false;
  async::Event changed_;
};

class FakeBackend;

// One played server, from the start of its load to its end. Stays valid when the router has forgotten it.
class FakeServer {
 public:
  enum class State { created, loading, ready, gone };

  FakeServer(FakeBackend& backend, ModelPtr model, LoadOptions options);

  const std::string& model() const { return model_->name.value(); }
  const LoadOptions& options() const { return options_; }
  State state() const { return state_; }
  bool alive() const { return state_ != State::gone; }
  // What the process says that it computes on once it is ready.
  Device computes_on = Device::none;
  // What stop() was told, in order.
  const std::vector<Millis>& stops() const { return stops_; }

  // The load, unless the backend loads at once.
  void progress(double fraction);
  // Its process does something, without a word.
  void work() { ++work_; }
  void finish_load();
  void fail_load(Error error);
  // What it told the router of its work when it ends; nothing: it is of a kind that doesn't.
  std::optional<LastWork> last_work = {};
  // Ends by itself, now: a load fails with load_crashed, running requests break off.
  void die(std::string how = "killed by signal 9 (SIGKILL)");
  // What downsize() was asked for, in times; its answer is the backend's `downsizes`.
  std::size_t downsizes() const { return downsizes_; }
  // Heeds stop(), unless the backend stops at once.
  void let_stop();
  // Tells the router what a request used.
  void report(const RequestStats& stats);

  // Requests so far, those that `reply` answered excepted; the newest one.
  const std::vector<std::shared_ptr<FakeRequest>>& requests() const { return requests_; }
  FakeRequest& request() const { return *requests_.back(); }
  // Not over yet.
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
  bool downsizes = true;     // what downsize() answers
  // Answers every request at once; unset: requests wait for the test. Called on the loop of the request.
  Reply reply;
  // What resolve() says to a model of this name.
  std::map<std::string, Error> refused;
  // Of these models check_files() gets no answer.
  std::set<std::string> silent_files;
  // And these it doesn't find.
  std::set<std::string> missing_files;
  std::size_t looks = 0;        // calls of check_files()
  std::uint64_t on_disk = 0;    // files_state() after the next of them
  std::uint64_t last_seen = 0;  // and before
  // What preflight() and estimate() say to it.
  std::map<std::string, Error> never_fit;
  std::map<std::string, MemoryEstimate> estimates;
  bool knows_estimates = true;            // without asking
  std::uint64_t bound = 0;                // what rough_bound() says
  std::optional<GivenMemory> given = {};  // what given_memory() says
  bool askable = true;                    // its servers are
  // What context() says, and its processes have, where no ctx_size is asked for.
  std::uint64_t usual_context = 2048;
  std::uint64_t max_context = ~0ull;  // that any has
  std::size_t asked = 0;              // calls of estimate()
  // What device() says to it; to others as the engine would that has whatever the machine has.
  std::map<std::string, Device> devices;
  // create_checker() makes servers, called "checker of NAME".
  bool checks = false;
  // create() throws for it.
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
  std::optional<GivenMemory> given_memory() const override { return given; }
  std::uint64_t context(const models::ModelInfo& model, const LoadOptions& options, std::uint64_t free) const override;
  std::uint64_t rough_bound(const models::ModelInfo& model, const LoadOptions& options) const override;
  async::Task<Result<>> preflight(ModelPtr model, LoadOptions options) override;
  std::unique_ptr<WrappedServer> create(ModelPtr model, const LoadOptions& options) override;
  std::unique_ptr<WrappedServer> create_checker(ModelPtr model, const LoadOptions& options) override;
  async::Task<void> stop() override;

  // Every server so far, in the order of their making; the newest one of a model.
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

// A model without files, for those who need no registry.
ModelPtr fake_model(std::string name, ModelType type = ModelType::llm, std::string recipe = "llamacpp");

}  // namespace corral::backends
