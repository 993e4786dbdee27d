#include "backends/memory_predictor.h"

#include <algorithm>
#include <array>
#include <csignal>

#include <fmt/format.h>

#include "backends/engine_leftovers.h"
#include "backends/load_order.h"
#include "base/log.h"
#include "base/state_file.h"
#include "proc/control_channel.h"

namespace corral::backends {
namespace {

constexpr int kCacheVersion = 1;
constexpr std::size_t kMaxAnswers = 512;  // in the file; a full one is emptied
constexpr Millis kRefusalHolds{60'000};
constexpr std::size_t kCauseLines = 6;  // of a dead process's output in the error

// Its own fault: the system kills with SIGKILL for lack of memory.
bool ended_by_itself(const proc::ExitStatus& status) {
  return std::ranges::any_of(std::array{SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV},
                             [&](int signal) { return status.by_signal(signal); });
}

// The order for the process. Threads and the public name don't affect the prediction.
EngineLoad order(const models::ModelInfo& model, LoadOptions options) {
  options.threads = 0;
  auto load = load_order(model, std::move(options));
  load.model.clear();
  return load;
}

async::Task<Result<MemoryEstimate>> talk(proc::Child& child, std::string line) {
  const auto written = co_await child.control()->write_line(std::move(line));
  if (!written) co_return fail(errc::load_crashed, written.error().message);
  const auto answer = co_await child.control()->read_line();
  if (!answer) co_return fail(errc::load_crashed, answer.error().message);
  auto event = parse_engine_event(*answer);
  if (event && std::holds_alternative<MemoryEstimate>(*event)) co_return std::get<MemoryEstimate>(std::move(*event));
  if (event && std::holds_alternative<EngineFailed>(*event)) {
    Error error = std::get<EngineFailed>(*event).error();
    // A dry run needs no memory for the model: a file that it can't read is unusable.
    if (error.code == errc::load_failed) error.code = errc::file_unusable;
    if (error.code == errc::file_unusable && error.param.empty()) error.param = "model";
    co_return std::unexpected(std::move(error));
  }
  co_return fail(errc::load_failed, "invalid memory estimate of the engine: " + answer->substr(0, 80));
}

}  // namespace

MemoryPredictor::MemoryPredictor(async::Executor home, async::Timers& timers, proc::Spawner& spawner, Files& files,
                                 MemoryPredictorOptions options)
    : home_(home),
      timers_(timers),
      spawner_(spawner),
      files_(files),
      options_(std::move(options)),
      free_(home),
      tasks_(home) {
  load_cache();
}

std::string MemoryPredictor::key_of(const models::ModelInfo& model, const LoadOptions& options) const {
  return options_.engine_version + "|" + to_line(order(model, options)) + files_key(model, options);
}

std::optional<MemoryEstimate> MemoryPredictor::known(const models::ModelInfo& model, const LoadOptions& options) const {
  const auto found = answers_.find(key_of(model, options));
  return found == answers_.end() ? std::nullopt : std::optional(found->second);
}

std::string MemoryPredictor::files_key(const models::ModelInfo& model, const LoadOptions& options) const {
  return files_.state_key(files_of(model, options));
}

bool MemoryPredictor::proven(const models::ModelInfo& model, const LoadOptions& options) const {
  return proven_.contains(files_key(model, options)) || known(model, options);
}

void MemoryPredictor::prove(const models::ModelInfo& model, const LoadOptions& options) {
  if (proven_.size() >= kMaxAnswers) proven_.clear();
  proven_.insert(files_key(model, options));
  proven_.insert(files_key(model, {}));
}

async::Task<Result<MemoryEstimate>> MemoryPredictor::predict(ModelPtr model, LoadOptions options, bool anew) {
  auto files = files_of(*model, options);
  const auto looked = co_await files_.look(std::move(files));
  if (!looked) co_return std::unexpected(looked.error());
  auto key = key_of(*model, options);
  if (const auto found = answers_.find(key); found != answers_.end() && !anew) co_return found->second;
  const auto refused = refusals_.find(key);
  if (refused != refusals_.end() && timers_.now() < refused->second.until && !anew)
    co_return std::unexpected(refused->second.error);
  auto question = questions_[key];
  if (!question) {
    question = questions_[key] = std::make_shared<Question>(home_);
    tasks_.spawn("memory estimate", answer(std::move(key), std::move(model), std::move(options), question));
  }
  co_await question->answered.wait();
  co_return *question->answer;
}

async::Task<void> MemoryPredictor::answer(std::string key, ModelPtr model, LoadOptions options,
                                          std::shared_ptr<Question> question) {
  // Completes all waiters, even if this task fails or is cancelled.
  struct Answered {
    MemoryPredictor& self;
    const std::string& key;
    Question& question;
    ~Answered() {
      if (!question.answer) question.answer = fail(errc::load_failed, "the server is stopping");
      question.answered.set();
      self.questions_.erase(key);
    }
  } const answered{*this, key, *question};
  while (busy_) {
    free_.reset();
    co_await free_.wait();
  }
  struct Busy {
    MemoryPredictor& self;
    explicit Busy(MemoryPredictor& predictor) : self(predictor) { self.busy_ = true; }
    ~Busy() {
      self.busy_ = false;
      self.free_.set();
    }
  } const busy(*this);
  bool crashed = false;
  question->answer = co_await ask_child(model, options, crashed);
  if (crashed) question->answer = co_await ask_child(model, options, crashed);  // a second crash is the file's fault
  if (!*question->answer) {
    const auto& error = question->answer->error();
    if (refusals_.size() >= kMaxAnswers) refusals_.clear();
    const bool by_file = error.param == "draft_model" || error.param == "lora" || error.param == "mmproj";
    if (error.code == errc::file_unusable || (error.code == errc::invalid_option && by_file))
      refusals_.insert_or_assign(key, Refusal{error, timers_.now() + kRefusalHolds});
    co_return;
  }
  if (answers_.size() >= kMaxAnswers) answers_.clear();
  answers_[key] = **question->answer;
  prove(*model, options);
  save_cache();
}

async::Task<Result<MemoryEstimate>> MemoryPredictor::ask_child(ModelPtr model, LoadOptions options, bool& crashed) {
  proc::ChildSpec spec;
  spec.name = "estimate of " + model->name.value();
  spec.argv = {options_.program.native(), "engine", "--estimate"};
  spec.control_channel = true;
  spec.binds_itself = true;
  spec.leftovers = engine_leftovers();
  auto child = co_await spawner_.spawn(std::move(spec));
  if (!child) co_return fail(errc::load_failed, "the engine cannot be started: " + child.error().message);
  auto line = to_line(order(*model, std::move(options)));
  auto talking = talk(**child, std::move(line));
  auto outcome = co_await async::with_timeout(timers_, options_.deadline, std::move(talking));
  const auto status = co_await (*child)->stop(Millis(0));
  if (!outcome) {
    co_return fail(errc::load_failed, fmt::format("no memory estimate of '{}' within {} s", model->name.value(),
                                                  options_.deadline.count() / 1000));
  }
  if (!*outcome && outcome->error().code == errc::load_crashed) {
    crashed = ended_by_itself(status);
    co_return fail(crashed ? errc::file_unusable : errc::load_crashed,
                   fmt::format("the engine ended while it estimated the memory of '{}': {}; its last output: {}",
                               model->name.value(), status.describe(), (*child)->log().text(kCauseLines)),
                   "model");
  }
  co_return std::move(*outcome);
}

async::Task<void> MemoryPredictor::stop() {
  tasks_.cancel();
  co_await tasks_.join();
}

void MemoryPredictor::load_cache() {
  if (options_.cache_file.empty()) return;
  const auto text = read_state_file(options_.cache_file).value_or(std::nullopt);
  const auto parsed = json::parse(text.value_or(""));
  if (!parsed || json::number_or(*parsed, "version", 0) != kCacheVersion) return;
  const auto* const entries = json::find(*parsed, "answers");
  if (!entries || !entries->is_array()) return;
  for (const auto& entry : entries->get_array()) {
    const auto* const estimate = json::find(entry, "memory");
    if (estimate) answers_[std::string(json::text_or(entry, "key", ""))] = read_memory_estimate(*estimate);
  }
}

void MemoryPredictor::save_cache() const {
  if (options_.cache_file.empty()) return;
  std::string text;
  json::Writer out(text);
  out.begin_object().field("version", kCacheVersion).key("answers").begin_array();
  for (const auto& [key, estimate] : answers_) {
    write(out.begin_object().field("key", key).key("memory"), estimate);
    out.end_object();
  }
  out.end_array().end_object();
  const auto written = write_state_file(options_.cache_file, text + '\n');
  if (!written) log::warning("backends", "memory estimates cannot be saved: {}", written.error().message);
}

}  // namespace corral::backends
