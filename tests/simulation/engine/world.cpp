#include "simulation/engine/world.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <random>
#include <utility>

#include <fmt/format.h>

#include "engine/errors.h"
#include "engine/worker_core.h"

namespace corral::engine::simulation {
namespace {

constexpr std::uint32_t kVocabulary = 61;
constexpr Token kEndToken = 60;
constexpr std::uint32_t kSessionTokens = 400;

class FakeTokens final : public TokenTable {
 public:
  std::uint32_t size() const override { return kVocabulary; }
  void append_piece(Token token, bool, std::string& to) const override {
    if (token != kEndToken) to.push_back(static_cast<char>('A' + token));
  }
  bool ends_generation(Token token) const override { return token == kEndToken; }
};

class FakePicker final : public TokenPicker {
 public:
  void prime(std::span<const Token>) override {}
  Result<Token> sample(const float* logits) override { return static_cast<Token>(*logits); }
  Drawn drawn(std::uint32_t) override { return {}; }
};

// Right, wrong or silent, as it happens.
class FakeDrafter final : public Drafter {
 public:
  explicit FakeDrafter(std::uint64_t seed) : random_(seed) {}
  void draft(SessionId, std::span<const Token> history, const GuessBudget& budget, std::vector<Guess>& to) override {
    std::uint64_t hash = kEmptyHash;
    for (const Token token : history) hash = next_hash(hash, token);
    for (std::uint32_t i = random_() % (budget.most + 1); i > 0; --i) {
      const Token right = answer_to(hash, kVocabulary);
      const Token token = random_() % 4 == 0 ? static_cast<Token>(random_() % kVocabulary) : right;
      to.push_back({token, 0.5 + 0.125 * static_cast<double>(random_() % 4)});
      hash = next_hash(hash, token);
    }
  }
  void forget(SessionId) override {}
  void downsize() override {}

 private:
  std::mt19937_64 random_;
};

// Takes some rounds, all at once at their end.
class FakeLane final : public PrefillLane {
 public:
  FakeLane(LaneMemoryMaker make, std::shared_ptr<CommandBox> box, std::uint64_t seed)
      : make_(std::move(make)), box_(std::move(box)), random_(seed) {}
  void start(PrefillJob job) override {
    if (job_) twice_ = true;
    job_ = std::move(job);
    rounds_ = random_() % 8;
    stop_ = false;
  }
  void stop() override { stop_ = true; }
  void set_threads(std::int32_t n_threads) override { n_threads_ = n_threads; }

  void round() {
    if (!job_ || rounds_-- > 0) return;
    PrefillResult result = run_prefill(std::move(*job_), make_, {.stop = stop_, .n_threads = n_threads_});
    job_.reset();
    box_->post(std::move(result));
  }
  bool started_twice() const { return twice_; }

 private:
  const LaneMemoryMaker make_;
  const std::shared_ptr<CommandBox> box_;
  std::mt19937_64 random_;
  std::optional<PrefillJob> job_;
  std::uint64_t rounds_ = 0;
  bool twice_ = false;
  std::atomic<bool> stop_ = false;
  std::atomic<std::int32_t> n_threads_ = 1;
};

struct Reader {
  StreamHandle stream;
  std::vector<Token> tokens;
  std::string text;
  std::optional<Finish> finish;
  std::uint32_t most = 0;
  std::vector<std::string> stops;
  bool poisoned = false;                    // what it is to continue can't be computed
  std::uint64_t history_hash = kEmptyHash;  // of the session's history when the generation started
};

// A session as its client sees it.
struct Client {
  SessionId id;
  std::shared_ptr<SessionShared> shared;
  std::vector<Token> history;   // what it appended and what the streams said, in this order
  std::vector<Token> appended;  // while a generation ran
  std::optional<Reader> reader;
};

class World {
 public:
  World(std::uint64_t variety, bool traced) : traced_(traced), jitter_(variety) {
    std::mt19937_64 random(variety);
    const auto one_of = [&](auto... values) {
      const std::array all{values...};
      return all[random() % sizeof...(values)];
    };
    memory_.cells = one_of(128u, 256u, 512u, 1024u);
    memory_.batch = one_of(16u, 32u, 64u);
    memory_.most_running = one_of(2u, 4u, 8u);
    memory_.vocabulary = kVocabulary;
    memory_.divisible = random() % 5 != 0;
    options_.max_sequences = memory_.most_running;
    options_.prefix_cache_tokens = random() % 4 == 0 ? 0 : memory_.cells / 2;
    const bool plain = memory_.divisible;
    options_.layout = !plain ? KvLayout::unified : one_of(KvLayout::automatic, KvLayout::automatic, KvLayout::unified);
    std::mt19937_64 of_layout(variety + 2);
    if (plain && of_layout() % 8 == 0) options_.layout = KvLayout::split;
    options_.foreign_cell_ms = one_of(0.0, 1e-3, 1e-1);
    options_.move_cell_ms = one_of(0.0, 1e-3);
    options_.draft_tokens = one_of(0u, 0u, 4u);
    options_.draft_active = memory_.most_running;
    memory_.most_outputs = memory_.most_running + most_guesses(memory_.most_running, options_.draft_tokens);
    stream_tokens_ = one_of(0u, 4u, 64u);
    box_ = std::make_shared<CommandBox>();
    options_.threads = {4, 4};
    std::mt19937_64 of_lane(variety + 1);
    options_.lane_tokens = of_lane() % 2 == 0 ? 20 : 60;
    auto lane = plain && of_lane() % 2 == 0 ? std::make_unique<FakeLane>(lane_memory(), box_, variety) : nullptr;
    lane_ = lane.get();
    WorkerCore::Parts parts{.tokens = tokens_,
                            .memory = *make({}),
                            .make = [this](KvShape shape) { return make(shape); },
                            .box = box_,
                            .store = random() % 3 == 0 ? nullptr
                                                       : std::make_shared<ParkedStore>(
                                                             ParkedStoreOptions{.memory_bytes = one_of(2000u, 100'000u),
                                                                                .whole_only = !plain,
                                                                                .folder = {},
                                                                                .fingerprint = {},
                                                                                .folder_bytes = 0}),
                            .drafter = options_.draft_tokens > 0 ? std::make_unique<FakeDrafter>(variety) : nullptr,
                            .lane = std::move(lane),
                            .clock = [this] { return now_ += std::chrono::microseconds(300 + jitter_() % 3000); }};
    core_ = std::make_unique<WorkerCore>(std::move(parts), options_);
  }

  Outcome run(const std::vector<Op>& life) {
    for (const Op& op : life) {
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
  Result<std::unique_ptr<KvMemory>> make(KvShape shape) {
    if (fate_->refuse_make > 0) {
      --fate_->refuse_make;
      return fail(errc::out_of_memory, "no memory");
    }
    return std::make_unique<FakeMemory>(memory_, shape, fate_);
  }

  LaneMemoryMaker lane_memory() {
    return [this](std::uint32_t tokens, const std::atomic<bool>&) -> Result<std::unique_ptr<KvMemory>> {
      if (tokens % 16 == 0) return fail(errc::out_of_memory, "no memory for the lane");
      FakeMemoryOptions options = memory_;
      options.cells = tokens;
      options.most_running = 1;
      return std::make_unique<FakeMemory>(options, KvShape{}, fate_);
    };
  }

  bool broken() {
    if (!outcome_.violation && !fate_->violation.empty()) outcome_.violation = fate_->violation;
    return outcome_.violation.has_value();
  }
  template <typename... Args>
  void violate(fmt::format_string<Args...> format, Args&&... args) {
    if (!outcome_.violation) outcome_.violation = fmt::format(format, std::forward<Args>(args)...);
  }

  Client* pick(std::uint32_t number) {
    if (clients_.empty()) return nullptr;
    return std::next(clients_.begin(), number % clients_.size())->second.get();
  }

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
      case Op::Kind::cancel:
        box_->post(CancelGeneration{client->id}, client->id.value());
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

  void create(bool share) {
    auto client = std::make_unique<Client>();
    client->id = SessionId(next_id_++);
    client->shared = std::make_shared<SessionShared>(client->id, std::min(kSessionTokens, memory_.cells));
    box_->post(CreateSession{client->shared, share});
    clients_.emplace(client->id.value(), std::move(client));
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
    client.shared->tokens += static_cast<std::uint32_t>(tokens.size());
    auto& to = client.reader ? client.appended : client.history;
    to.insert(to.end(), tokens.begin(), tokens.end());
    box_->post(AppendTokens{client.id, std::move(tokens)});
  }

  void generate(Client& client, const Op& op) {
    if (client.reader && !client.reader->finish) return;  // one after another; supersession is tested on real models
    if (client.history.empty()) return;
    Reader& reader = client.reader.emplace();
    reader.most = op.size;
    if (op.which % 4 == 1) reader.stops = {std::string(1, static_cast<char>('A' + op.which % 60))};
    if (op.which % 4 == 2)
      reader.stops = {
          fmt::format("{}{}", static_cast<char>('A' + op.which % 60), static_cast<char>('A' + op.size % 60))};
    reader.poisoned = std::ranges::find(client.history, kPoison) != client.history.end();
    for (const Token token : client.history) reader.history_hash = next_hash(reader.history_hash, token);
    auto self = std::make_shared<const StreamState*>(nullptr);
    auto stream = std::make_shared<StreamState>(
        stream_tokens_,
        StreamState::Owner{
            .drained = [box = box_] { box->wake(); },
            .cancelled = [box = box_, self, id = client.id] { box->post(CancelGeneration{id, *self}, id.value()); }});
    *self = stream.get();
    reader.stream = StreamHandle(stream);
    Generation generation;
    generation.stream = std::move(stream);
    generation.sampler = std::make_unique<FakePicker>();
    generation.max_new_tokens = reader.most;
    generation.cutter = TextCutter(reader.stops);
    generation.posted = now_;
    ++client.shared->generations;
    generation.ticket = *in_flight_.enter();
    box_->post(StartGeneration{client.id, std::move(generation)});
  }

  void read(Client& client) {
    if (!client.reader) return;
    Reader& reader = *client.reader;
    while (auto chunk = reader.stream.try_next()) {
      if (reader.finish) violate("session {}: something behind the terminal item", client.id.value());
      reader.tokens.insert(reader.tokens.end(), chunk->tokens.begin(), chunk->tokens.end());
      reader.text += chunk->text;
      if (chunk->finish) reader.finish = std::move(chunk->finish);
    }
    if (reader.finish) check(client);
  }

  // A session is as long as its part at the most, where parts are wanted whatever comes.
  std::uint32_t most_tokens(const Client& client) const {
    const std::uint32_t part = memory_.cells / options_.max_sequences;
    return options_.layout == KvLayout::split ? std::min(client.shared->n_ctx, part) : client.shared->n_ctx;
  }

  // What a stream said is exactly what the fake model says to the history, from its first token to its last.
  void check(Client& client) {
    Reader& reader = *client.reader;
    const Finish& finish = *reader.finish;
    std::uint64_t hash = reader.history_hash;
    std::string text;
    for (const Token token : reader.tokens) {
      const Token expected = answer_to(hash, kVocabulary);
      if (token != expected)
        return violate("session {}: token {} of {} should be {}", client.id.value(), &token - reader.tokens.data(),
                       token, expected);
      FakeTokens().append_piece(token, false, text);
      hash = next_hash(hash, token);
    }
    if (text != reader.text) violate("session {}: the text isn't that of the tokens", client.id.value());
    if (reader.tokens.size() > reader.most) violate("session {}: more tokens than asked for", client.id.value());
    if (finish.reason == StopReason::length && reader.tokens.size() != reader.most)
      violate("session {}: {} tokens instead of {}", client.id.value(), reader.tokens.size(), reader.most);
    for (const std::string& stop : reader.stops) {
      if (reader.text.contains(stop)) violate("session {}: the text goes on behind '{}'", client.id.value(), stop);
    }
    if (finish.reason == StopReason::stop && finish.stop_string.empty() &&
        (reader.tokens.empty() || reader.tokens.back() != kEndToken))
      violate("session {}: stopped without a reason", client.id.value());
    if (finish.reason == StopReason::context_full && client.shared->tokens < most_tokens(client))
      violate("session {}: full at {} tokens, with room for {}", client.id.value(), client.shared->tokens.load(),
              most_tokens(client));
    if (finish.reason == StopReason::error && !finish.error)
      violate("session {}: an error without a cause", client.id.value());
    // Only the one to blame fails, whoever it shared the pass with; it always does.
    const bool failed = finish.error && finish.error->code == errc::decode_failed;
    if (failed && !reader.poisoned) violate("session {}: failed for another's tokens", client.id.value());
    if (reader.poisoned && !reader.tokens.empty())
      violate("session {}: says something to what can't be computed", client.id.value());
    if (reader.poisoned && reader.most > 0 && finish.reason == StopReason::length)
      violate("session {}: got through with what can't be computed", client.id.value());
    outcome_.failed += failed ? 1 : 0;
    outcome_.tokens += reader.tokens.size();
    client.history.insert(client.history.end(), reader.tokens.begin(), reader.tokens.end());
    client.history.insert(client.history.end(), client.appended.begin(), client.appended.end());
    client.appended.clear();
    client.reader.reset();
  }

  void end(Client& client) {
    box_->post(EndSession{client.id}, client.id.value());
    settle();
    read(client);
    if (client.reader) violate("session {}: ended without a terminal item", client.id.value());
    clients_.erase(client.id.value());
  }

  void downsize() {
    bool heard = false;
    box_->post(Downsize{[&](DownsizeReport) { heard = true; }});
    settle();
    if (!heard) violate("a downsize without an answer");
  }

  // Commands are taken without a pass.
  void settle() {
    if (lane_ != nullptr) lane_->round();
    core_->take_commands(false);
    if (lane_ != nullptr && lane_->started_twice()) violate("a second job in the lane");
  }

  void round() {
    settle();
    if (core_->round()) ++outcome_.passes;
  }

  // Everybody reads from now on: all must come to an end, soon.
  void get_through() {
    std::uint64_t work = 100;
    for (auto& [id, client] : clients_) {
      if (client->reader) work += 3 * (client->history.size() + client->reader->most + 10);
    }
    fate_->abort_in = fate_->fail_in = fate_->refuse_make = 0;
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
    const WorkerStats stats = core_->stats();
    outcome_.preemptions = stats.preemptions;
    outcome_.parked = stats.parked;
    outcome_.restored = stats.restored;
    outcome_.shared = stats.prefix_hits;
    outcome_.layout_changes = stats.layout_changes;
    outcome_.accepted = stats.accepted_tokens;
    outcome_.in_lane = stats.lane_prompts;
    if (options_.layout == KvLayout::split) outcome_.in_parts = stats.predicted_tokens;
    if (fate_->most_batch > memory_.batch) violate("a pass of {} tokens", fate_->most_batch);
    if (!in_flight_.wait_until_empty(MonoTime::min())) violate("a generation is said to run when none does");
    while (!clients_.empty() && !outcome_.violation) end(*clients_.begin()->second);
    downsize();
    if (const WorkerStats last = core_->stats(); last.kv_used != 0 || last.cached_prefixes != 0 || last.sessions != 0)
      violate("{} cells, {} prefixes, {} sessions are left when all is over", last.kv_used, last.cached_prefixes,
              last.sessions);
  }

  const bool traced_;
  std::mt19937_64 jitter_;  // of the time that passes take
  Outcome outcome_;
  FakeTokens tokens_;
  FakeMemoryOptions memory_;
  WorkerOptions options_;
  std::uint32_t stream_tokens_ = 0;
  std::shared_ptr<Fate> fate_ = std::make_shared<Fate>();
  std::shared_ptr<CommandBox> box_;
  InFlight in_flight_;
  MonoTime now_{};
  std::unique_ptr<WorkerCore> core_;
  FakeLane* lane_ = nullptr;  // the core's
  std::map<std::uint64_t, std::unique_ptr<Client>> clients_;
  std::uint64_t next_id_ = 1;
};

}  // namespace

Outcome live(const std::vector<Op>& life, std::uint64_t variety, bool traced) {
  return World(variety, traced).run(life);
}

}  // namespace corral::engine::simulation
