#include "simulation/engine/world.h"

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <random>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "engine/test_failing_allocations.h"
#include "simulation/engine/client.h"
#include "simulation/engine/setting.h"
#include "simulation/engine/simulated_worker.h"

namespace corral::engine::simulation {
namespace {

// A folder that goes with it; none: nothing goes to disk.
class Folder {
 public:
  explicit Folder(bool wanted) {
    static std::atomic<std::uint64_t> last = 0;
    if (wanted)
      path_ = std::filesystem::temp_directory_path() / fmt::format("corral-simulation-{}-{}", ::getpid(), ++last);
  }
  ~Folder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  // One of its files is cut, changed or gone.
  void damage(std::uint32_t which) const {
    std::error_code ignored;
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::directory_iterator(path_, ignored)) files.push_back(entry.path());
    if (files.empty()) return;
    std::ranges::sort(files);
    const std::filesystem::path& file = files[which / 3 % files.size()];
    const auto size = std::filesystem::file_size(file, ignored);
    if (which % 3 == 0) std::filesystem::remove(file, ignored);
    if (which % 3 == 1) std::filesystem::resize_file(file, size / 2, ignored);
    if (which % 3 != 2 || size == 0) return;
    std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
    stream.seekp(static_cast<std::streamoff>(which * 977 % size));
    stream.put(static_cast<char>(0x5A));
  }

 private:
  std::filesystem::path path_;
};

std::shared_ptr<ParkedStore> make_store(const Setting& setting, const std::filesystem::path& folder,
                                        std::shared_ptr<BackgroundExecutor> executor) {
  if (!setting.park_bytes) return nullptr;
  return std::make_shared<ParkedStore>(
      ParkedStoreOptions{.memory_bytes = *setting.park_bytes,
                         .whole_only = !setting.memory.divisible || setting.memory.window > 0,
                         .folder = folder,
                         .fingerprint = "simulation",
                         .folder_bytes = 50'000,
                         .disk = executor,
                         .executor = std::move(executor)});
}

class World {
 public:
  World(std::uint64_t variety, bool traced)
      : traced_(traced),
        setting_(pick_setting(variety)),
        jitter_(variety),
        turn_(variety),
        folder_(setting_.disk),
        executor_(setting_.disk ? std::make_shared<FakeChores>(fate_, variety) : nullptr),
        store_(make_store(setting_, folder_.path(), executor_)) {
    test::failing_allocations.end();
    const SimulatedWorker::Common common{
        .setting = setting_,
        .variety = variety,
        .fate = fate_,
        .store = store_,
        .clock = [this] { return now_ += std::chrono::microseconds(300 + jitter_() % 3000); },
        .shares_beginning = [this](SessionId session) { return shares_beginning(*clients_.at(session.value())); },
        .executor = executor_};
    for (std::uint32_t i = 0; i < setting_.workers; ++i)
      workers_.push_back(std::make_unique<SimulatedWorker>(common, i));
  }

  Outcome run(const std::vector<Op>& scenario) {
    for (const Op& op : scenario) {
      if (traced_) outcome_.trace.push_back(to_string(op));
      apply(op);
      if (broken()) return std::move(outcome_);
    }
    get_through();
    if (!broken()) end_all();
    broken();
    return std::move(outcome_);
  }

 private:
  bool broken() {
    if (!outcome_.violation && !fate_->violation.empty()) outcome_.violation = fate_->violation;
    return outcome_.violation.has_value();
  }
  template <typename... Args>
  void violate(fmt::format_string<Args...> format, Args&&... args) {
    fate_->broken(fmt::format(format, std::forward<Args>(args)...));
  }

  Client* pick(std::uint32_t number) {
    if (clients_.empty()) return nullptr;
    return std::next(clients_.begin(), number % clients_.size())->second.get();
  }
  SimulatedWorker& worker_of(const Client& client) { return *workers_[client.worker]; }

  void apply(const Op& op) {
    if (op.kind == Op::Kind::create) return create(op.size % 8 != 7);
    if (op.kind == Op::Kind::rounds) {
      for (std::uint32_t i = 0; i <= op.size % 12 && !broken(); ++i) round();
      return;
    }
    if (op.kind == Op::Kind::downsize) return downsize();
    if (op.kind == Op::Kind::abort) {
      fate_->abort_in = 1 + op.size % 4;
      return;
    }
    if (op.kind == Op::Kind::fail) {
      fate_->fail_in = 1 + op.size % 4;
      return;
    }
    if (op.kind == Op::Kind::throws) return throws(op);
    if (op.kind == Op::Kind::no_alloc) {
      unforeseen_ = true;
      return test::failing_allocations.begin(1 + op.size, 1 + op.which % 4);
    }
    if (op.kind == Op::Kind::save) return save();
    if (op.kind == Op::Kind::damage) return folder_.damage(op.which);
    if (op.kind == Op::Kind::stall) {
      fate_->disk_stalls = op.size;
      return;
    }
    if (op.kind == Op::Kind::no_memory) {
      fate_->refuse_make = op.size % 8 == 0 ? 1 : 0;
      return;
    }
    Client* const client = pick(op.session);
    if (client == nullptr) return;
    switch (op.kind) {
      case Op::Kind::append:
      case Op::Kind::poison:
        append(*client, op);
        break;
      case Op::Kind::generate:
        generate(*client, op);
        break;
      case Op::Kind::supersede:
        supersede(*client, op);
        break;
      case Op::Kind::cancel:
        worker_of(*client).box()->post(CancelGeneration{client->id}, client->id.value());
        break;
      case Op::Kind::end:
        end(*client);
        break;
      case Op::Kind::read:
        read(*client);
        break;
      default:
        break;
    }
  }

  // One after another to each worker, as the engine does it.
  void create(bool share) {
    auto client = std::make_unique<Client>();
    client->worker = next_id_ % workers_.size();
    client->shares = share;
    client->id = SessionId(next_id_++);
    const auto set = client->id.value() % setting_.adapter_sets;
    client->shared = std::make_shared<SessionShared>(client->id, setting_.session_tokens(),
                                                     set == 0 ? AdapterScales() : AdapterScales{0.5F * float(set), 1});
    worker_of(*client).box()->post(CreateSession{client->shared, share});
    clients_.emplace(client->id.value(), std::move(client));
  }

  // With another one of its worker that has a generation, as far as can be known: what streams have said and nobody has
  // read may be the same too.
  bool shares_beginning(const Client& one) const {
    if (!one.shares || setting_.worker.prefix_cache_tokens == 0 || !setting_.memory.divisible) return false;
    return std::ranges::any_of(clients_, [&](const auto& entry) {
      const Client& other = *entry.second;
      if (&other == &one || other.worker != one.worker || !other.shares || !other.reader) return false;
      if (other.shared->adapters != one.shared->adapters) return false;
      const auto end = std::ranges::mismatch(one.history, other.history);
      return end.in1 - one.history.begin() >= Sequences::kWorthWaiting || end.in1 == one.history.end() ||
             end.in2 == other.history.end();
    });
  }

  void append(Client& client, const Op& op) {
    std::vector<Token> tokens;
    const bool fresh = client.shared->tokens == 0;
    // The same beginnings again and again, so that there is something to share.
    std::mt19937_64 random(fresh ? op.which % 4 : op.which * 1000 + op.size);
    for (std::uint32_t i = 0; i < op.size; ++i) tokens.push_back(static_cast<Token>(random() % (kVocabulary - 1)));
    if (fresh && op.size > 10 && op.which % 3 == 0) tokens.back() = static_cast<Token>(op.which % (kVocabulary - 1));
    if (op.kind == Op::Kind::poison && !tokens.empty()) tokens[op.which % tokens.size()] = kPoison;
    if (tokens.empty() || client.shared->tokens + tokens.size() >= client.shared->n_ctx) return;
    if (client.reader && client.reader->shift) return;  // nobody could say what goes when
    client.shared->tokens += static_cast<std::uint32_t>(tokens.size());
    auto& to = client.reader ? client.appended : client.history;
    to.insert(to.end(), tokens.begin(), tokens.end());
    worker_of(client).box()->post(AppendTokens{client.id, std::move(tokens)});
  }

  void throws(const Op& op) {
    unforeseen_ = true;
    if (op.which % 4 == 0)
      fate_->throw_make = true;
    else if (op.which % 4 == 1)
      fate_->throw_thread = true;
    else
      fate_->throw_in = 1 + op.size % 4;
  }

  void save() {
    if (!store_) return;
    (void)store_->save();
    store_->let_go_of_saved();
  }

  // The stop strings are those of the step.
  static std::vector<std::string> stops(const Op& op) {
    if (op.which % 4 == 1) return {std::string(1, static_cast<char>('A' + op.which % 60))};
    if (op.which % 4 == 2)
      return {fmt::format("{}{}", static_cast<char>('A' + op.which % 60), static_cast<char>('A' + op.size % 60))};
    return {};
  }

  std::optional<ContextShift> shift_of(const Client& client, const Op& op) const {
    // Of those without stop strings, which may hold tokens back.
    if (!setting_.shifts || op.which % 4 == 1 || op.which % 4 == 2 || !client.appended.empty()) return std::nullopt;
    return ContextShift{.keep = static_cast<std::int32_t>(op.which % 7) - 1, .discard = op.which % 3 * 5};
  }

  StreamHandle start(Client& client, const Op& op) {
    SimulatedWorker& worker = worker_of(client);
    auto self = std::make_shared<const StreamState*>(nullptr);
    auto stream = std::make_shared<StreamState>(
        setting_.stream_tokens,
        StreamState::Owner{.drained = [box = worker.box()] { box->wake(); },
                           .cancelled = [box = worker.box(), self,
                                         id = client.id] { box->post(CancelGeneration{id, *self}, id.value()); }});
    *self = stream.get();
    StreamHandle handle(stream);
    Generation generation;
    generation.stream = std::move(stream);
    generation.sampler = std::make_unique<FakePicker>();
    generation.max_new_tokens = op.size;
    generation.shift = client.shift = shift_of(client, op);
    generation.filter = StopStringFilter(stops(op));
    ++client.shared->generations;
    worker.start(client.id, std::move(generation));
    return handle;
  }

  static void follow(Client& client, const Op& op, StreamHandle stream) {
    Reader& reader = client.reader.emplace();
    reader.shift = client.shift;
    if (reader.shift) reader.history = client.history;
    reader.n_ctx = client.shared->n_ctx;
    reader.max = op.size;
    reader.stops = stops(op);
    reader.poisoned = std::ranges::find(client.history, kPoison) != client.history.end();
    reader.adapters = client.shared->adapters;
    for (const Token token : client.history)
      reader.history_hash = next_hash(reader.history_hash, token, reader.adapters);
    reader.stream = std::move(stream);
  }

  void generate(Client& client, const Op& op) {
    if (client.reader && !client.reader->finish) return;
    if (client.history.empty()) return;
    StreamHandle stream = start(client, op);
    follow(client, op, std::move(stream));
  }

  // The one that runs has ended when the other begins.
  void supersede(Client& client, const Op& op) {
    if (!client.reader) return generate(client, op);
    StreamHandle stream = start(client, op);
    worker_of(client).settle();
    if (client.reader) outcome_.superseded += 1;
    read(client);
    if (client.reader) return violate("session {}: superseded without a terminal item", client.id.value());
    follow(client, op, std::move(stream));
  }

  void read(Client& client) {
    if (!client.reader) return;
    // A pool that couldn't grow is full sooner.
    const std::uint32_t max = std::min(client.shared->n_ctx, fate_->refused > 0 ? setting_.memory.cells : ~0u);
    if (auto rule = client.read(setting_.max_tokens(max))) return fate_->broken(std::move(*rule));
    if (!client.reader->finish) return;
    outcome_.failed += client.failed(errc::decode_failed) ? 1 : 0;
    if (client.failed(errc::worker_failed)) {
      ++outcome_.unforeseen;
      if (!unforeseen_) violate("session {}: failed for nothing", client.id.value());
    }
    outcome_.tokens += client.reader->tokens.size();
    client.go_on();
  }

  void end(Client& client) {
    SimulatedWorker& worker = worker_of(client);
    worker.box()->post(EndSession{client.id}, client.id.value());
    worker.settle();
    read(client);
    if (client.reader) violate("session {}: ended without a terminal item", client.id.value());
    clients_.erase(client.id.value());
  }

  void downsize() {
    std::size_t answered = 0;
    for (auto& worker : workers_) {
      worker->box()->post(Downsize{[&](DownsizeReport) { ++answered; }});
      worker->settle();
    }
    if (answered != workers_.size()) violate("a downsize without an answer");
  }

  // Of each worker. Who is first changes, for what they share.
  void round() {
    if (executor_) executor_->round();
    const std::size_t first = workers_.size() > 1 ? turn_() % workers_.size() : 0;
    for (std::size_t i = 0; i < workers_.size(); ++i) {
      if (workers_[(first + i) % workers_.size()]->round()) ++outcome_.passes;
    }
  }

  // Everybody reads from now on: all must come to an end, soon.
  void get_through() {
    std::uint64_t work = 100;
    for (auto& [id, client] : clients_) {
      if (client->reader) work += 3 * (client->history.size() + client->reader->max + 10);
    }
    fate_->abort_in = fate_->fail_in = fate_->refuse_make = fate_->throw_in = fate_->disk_stalls = 0;
    fate_->throw_make = fate_->throw_thread = false;
    test::failing_allocations.end();
    for (std::uint64_t i = 0; i < work && !broken(); ++i) {
      bool open = false;
      for (auto& [id, client] : clients_) {
        read(*client);
        open = open || client->reader.has_value();
      }
      if (!open) return;
      round();
    }
    if (broken()) return;
    for (auto& [id, client] : clients_) {
      if (client->reader) return violate("session {} doesn't get through", id);
    }
  }

  void end_all() {
    for (auto& worker : workers_) {
      const WorkerStats stats = worker->stats();
      outcome_.preemptions += stats.preemptions;
      outcome_.parked += stats.parked;
      outcome_.restored += stats.restored;
      outcome_.shared += stats.prefix_hits;
      outcome_.layout_changes += stats.layout_changes;
      outcome_.growths += stats.growths;
      outcome_.accepted += stats.accepted_tokens;
      outcome_.in_lane += stats.lane_prompts;
      outcome_.padding += stats.padding_rows;
      outcome_.fresh_starts += stats.fresh_starts;
      if (setting_.worker.layout == KvLayout::split) outcome_.in_parts += stats.predicted_tokens;
      if (!worker->in_flight().wait_until_empty(MonoTime::min())) violate("a generation is said to run when none does");
    }
    outcome_.crossed = fate_->crossed;
    if (store_) outcome_.read_back = store_->stats().loads;
    if (fate_->max_batch > setting_.memory.batch) violate("a pass of {} tokens", fate_->max_batch);
    while (!clients_.empty() && !broken()) end(*clients_.begin()->second);
    downsize();
    for (auto& worker : workers_) {
      const WorkerStats last = worker->stats();
      if (last.kv_used != 0 || last.cached_prefixes != 0 || last.sessions != 0)
        violate("{} cells, {} prefixes, {} sessions are left when all is over", last.kv_used, last.cached_prefixes,
                last.sessions);
    }
  }

  const bool traced_;
  const std::shared_ptr<Fate> fate_ = std::make_shared<Fate>();
  const Setting setting_;
  std::mt19937_64 jitter_;  // of the time that passes take
  std::mt19937_64 turn_;    // which worker goes first
  const Folder folder_;
  const std::shared_ptr<FakeChores> executor_;  // nullptr: without a folder
  const std::shared_ptr<ParkedStore> store_;
  bool unforeseen_ = false;  // something was thrown
  Outcome outcome_;
  MonoTime now_{};
  std::vector<std::unique_ptr<SimulatedWorker>> workers_;
  std::map<std::uint64_t, std::unique_ptr<Client>> clients_;
  std::uint64_t next_id_ = 1;
};

}  // namespace

Outcome live(const std::vector<Op>& scenario, std::uint64_t variety, bool traced) {
  return World(variety, traced).run(scenario);
}

}  // namespace corral::engine::simulation
