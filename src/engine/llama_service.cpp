// Loading, the life of the service, and the table of its sessions.
#include "engine/llama_service.h"

#include <algorithm>
#include <filesystem>
#include <future>
#include <utility>

#include <fmt/core.h>
#include <malloc.h>

#include "base/log.h"
#include "engine/backends.h"
#include "engine/context.h"
#include "engine/context_params.h"
#include "engine/llama_service_impl.h"
#include "engine/sampler.h"

namespace corral::engine {

namespace {

Result<> check(const LoadOptions& options) {
  if (options.workers < 1 || options.workers > kMaxWorkers) {
    return fail(errc::invalid_worker_count,
                fmt::format("{} workers asked for; 1 to {} are possible", options.workers, kMaxWorkers), "workers");
  }
  if (options.max_sequences < 1 || options.max_sequences > kMaxSequences) {
    return fail(errc::invalid_argument,
                fmt::format("max_sequences is {}; 1 to {} are possible", options.max_sequences, kMaxSequences),
                "max_sequences");
  }
  const auto too_small = [&](std::uint32_t value) { return value != 0 && value < options.max_sequences; };
  if (too_small(options.n_batch)) {
    return fail(
        errc::invalid_argument,
        fmt::format("n_batch is {}, but {} sequences need a token each", options.n_batch, options.max_sequences),
        "n_batch");
  }
  if (too_small(options.n_ctx)) {
    return fail(errc::invalid_argument,
                fmt::format("n_ctx is {}, but {} sequences need a token each", options.n_ctx, options.max_sequences),
                "n_ctx");
  }
  if (options.speculative.max_tokens > kMaxGuesses) {
    return fail(errc::invalid_argument,
                fmt::format("{} guesses of a pass asked for; 0 to {} are possible", options.speculative.max_tokens,
                            kMaxGuesses),
                "speculative");
  }
  return {};
}

// To save a sequence and put it back, measured on ordinary machines: two copies.
constexpr double kMoveBytesPerMs = 1.5e6;
// What flash attention on a CPU takes to see that a cell is another sequence's, for one head of one layer.
constexpr double kForeignCellNs = 2.0;

bool on_gpu(const LoadOptions& options) {
  return options.n_gpu_layers != 0 && (ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_GPU) != nullptr ||
                                       ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_IGPU) != nullptr);
}

// What a token pays in each pass for a cell of another sequence. A GPU computes on all cells at once: nothing.
double foreign_cell_ms(const Model& model, const LoadOptions& options) {
  if (on_gpu(options)) return 0;
  const auto threads = static_cast<double>(compute_threads(model, options));
  return kForeignCellNs * 1e-6 * model.facts().n_layer * llama_model_n_head(model.handle()) / threads;
}

// Parked KV is of use only to the same weights, cache types and adapters under the same libllama.
std::string fingerprint(const LoadOptions& options, const Model& model) {
  std::error_code none;
  const auto changed = std::filesystem::last_write_time(options.path, none).time_since_epoch().count();
  std::string text = fmt::format("{} {} {} {} {} {} {}", std::filesystem::absolute(options.path, none).string(),
                                 changed, model.facts().model_bytes, model.facts().n_params, options.cache_type_k,
                                 options.cache_type_v, running_llama_version());
  text += options.flash_attention == Toggle::off ? " no-fa" : "";
  for (const LoraAdapter& lora : options.loras) text += fmt::format(" {}:{}", lora.path, lora.scale);
  return text;
}

std::shared_ptr<ParkedStore> open_store(const LoadOptions& options, const Model& model) {
  if (options.park_bytes == 0 || options.prefix_cache_tokens == 0) return nullptr;
  auto store = std::make_shared<ParkedStore>(ParkedStoreOptions{.memory_bytes = options.park_bytes,
                                                                .whole_only = !model.plain_attention(),
                                                                .folder = options.park_dir,
                                                                .fingerprint = fingerprint(options, model),
                                                                .folder_bytes = options.park_disk_bytes});
  if (const auto opened = store->open(); !opened) log::warning("engine", "{}", opened.error().message);
  return store;
}

}  // namespace

Result<> LlamaService::Impl::add_worker() {
  auto box = std::make_shared<CommandBox>();
  KvMaker make = [this, box](KvShape shape) -> Result<std::unique_ptr<KvMemory>> {
    return Context::make(model, options, box->abort_flag(), shape);
  };
  auto memory = make({});
  if (!memory) return std::unexpected(memory.error());
  take_facts(**memory);
  auto drafter = make_drafter((*memory)->n_ctx());
  if (!drafter) return std::unexpected(drafter.error());
  const WorkerOptions worker{
      .max_sequences = options.max_sequences,
      .prefix_cache_tokens = std::min(options.prefix_cache_tokens, (*memory)->n_ctx() / 2),
      .target_step_ms = static_cast<double>(options.target_step.count()),
      .layout = model->plain_attention() ? options.kv_layout : KvLayout::unified,
      .foreign_cell_ms = foreign_cell_ms(*model, options),
      .move_cell_ms = static_cast<double>(model->kv_bytes_per_token()) / kMoveBytesPerMs,
      .draft_tokens = options.speculative.max_tokens,
      .draft_active = options.speculative.max_active,
      .measure_rows = options.speculative.measure,
  };
  workers.push_back(std::make_unique<Worker>(WorkerCore::Parts{.tokens = *model,
                                                               .memory = std::move(*memory),
                                                               .make = std::move(make),
                                                               .box = std::move(box),
                                                               .store = store,
                                                               .drafter = std::move(*drafter)},
                                             worker));
  return {};
}

Result<> LlamaService::Impl::add_pooler() {
  auto box = std::make_shared<PoolingBox>();
  auto context = Context::make(model, options, box->abort_flag());
  if (!context) return std::unexpected(context.error());
  take_facts(**context);
  poolers.push_back(std::make_unique<PoolingWorker>(model, std::move(*context), std::move(box)));
  return {};
}

void LlamaService::Impl::take_facts(const KvMemory& memory) {
  ModelFacts& facts = model->mutable_facts();
  const std::uint32_t cells = memory.n_ctx();
  facts.n_ctx = facts.n_ctx_train != 0 ? std::min(cells, facts.n_ctx_train) : cells;
  facts.n_batch = memory.n_batch();
}

Result<std::unique_ptr<LlamaService>> LlamaService::load(LoadOptions options, Progress progress) {
  if (auto checked = check(options); !checked) return std::unexpected(checked.error());
  if (auto loaded = load_backends(); !loaded) return std::unexpected(loaded.error());
  auto model = Model::load(options, progress);
  if (!model) return std::unexpected(model.error());

  auto impl = std::make_unique<Impl>();
  impl->options = std::move(options);
  impl->model = *model;
  ModelFacts& facts = (*model)->mutable_facts();
  const LoadOptions& o = impl->options;
  facts.workers = o.workers;
  facts.max_sequences = o.max_sequences;
  if (facts.kind == ModelKind::generative) impl->store = open_store(o, **model);
  if (auto loaded = impl->load_draft(); !loaded) return std::unexpected(loaded.error());
  for (std::uint32_t i = 0; i < o.workers; ++i) {
    auto made = facts.kind == ModelKind::generative ? impl->add_worker() : impl->add_pooler();
    if (!made) return std::unexpected(made.error());
  }
  for (auto& worker : impl->workers) worker->start();
  for (auto& pooler : impl->poolers) pooler->start();
  return std::unique_ptr<LlamaService>(new LlamaService(std::move(impl)));
}

LlamaService::LlamaService(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

LlamaService::~LlamaService() {
  // All stop at once, then each is waited for.
  for (auto& worker : impl_->workers) worker->box()->close();
  for (auto& pooler : impl_->poolers) pooler->box().close();
  for (auto& worker : impl_->workers) worker->stop();
  if (!impl_->store) return;
  if (const auto saved = impl_->store->save(); !saved) log::warning("engine", "{}", saved.error().message);
}

const ModelFacts& LlamaService::facts() const { return impl_->model->facts(); }
const SamplingOptions& LlamaService::default_sampling() const { return impl_->model->default_sampling(); }
const llama_model* LlamaService::model() const { return impl_->model->handle(); }
const llama_vocab* LlamaService::vocab() const { return impl_->model->vocab(); }

Result<std::vector<Token>> LlamaService::tokenize(std::string_view text, bool add_special, bool parse_special) const {
  return impl_->model->tokenize(text, add_special, parse_special);
}

std::string LlamaService::detokenize(std::span<const Token> tokens, bool render_special) const {
  std::string text;
  for (const Token token : tokens) impl_->model->append_piece(token, render_special, text);
  return text;
}

std::string LlamaService::piece(Token token, bool render_special) const {
  return detokenize(std::span(&token, 1), render_special);
}

bool LlamaService::is_end_of_generation(Token token) const {
  return impl_->model->valid(token) && impl_->model->ends_generation(token);
}

Result<SessionId> LlamaService::create_session(SessionOptions options) {
  if (impl_->workers.empty()) {
    return fail(errc::unsupported, fmt::format("this is an {} model: it can't generate text", to_string(facts().kind)));
  }
  const std::uint32_t limit = options.n_ctx == 0 ? facts().n_ctx : std::min(options.n_ctx, facts().n_ctx);
  const std::scoped_lock lock(impl_->mutex);
  const std::uint32_t worker = impl_->next_worker;
  auto shared = std::make_shared<SessionShared>(SessionId(impl_->next_session), limit);
  // Under the lock, so that sessions arrive at their workers before anything that is asked of them.
  if (!impl_->workers[worker]->box()->post(CreateSession{shared, options.share_prefix}))
    return fail(errc::worker_shutdown, "the service is going away");
  impl_->next_worker = (worker + 1) % static_cast<std::uint32_t>(impl_->workers.size());
  impl_->sessions.emplace(impl_->next_session++, Impl::Entry{shared, worker});
  return shared->id;
}

Result<> LlamaService::Impl::append(const Entry& entry, std::vector<Token> tokens) {
  if (tokens.empty()) return {};
  SessionShared& shared = *entry.shared;
  const auto count = static_cast<std::uint32_t>(tokens.size());
  const std::uint32_t before = shared.tokens.fetch_add(count);
  if (std::uint64_t{before} + tokens.size() >= shared.n_ctx) {
    shared.tokens -= count;
    return fail(errc::context_full,
                fmt::format("{} tokens on top of {} need a context of at least {}; this one holds {}", tokens.size(),
                            before, std::uint64_t{before} + tokens.size() + 1, shared.n_ctx));
  }
  if (workers[entry.worker]->box()->post(AppendTokens{shared.id, std::move(tokens)})) return {};
  return fail(errc::worker_shutdown, "the service is going away");
}

Result<> LlamaService::append_input(SessionId session, std::string_view text, bool parse_special) {
  const auto entry = impl_->entry(session);
  if (!entry) return std::unexpected(entry.error());
  if (text.empty()) return {};
  auto tokens = impl_->model->tokenize(text, entry->shared->tokens == 0, parse_special);
  if (!tokens) return std::unexpected(tokens.error());
  return impl_->append(*entry, std::move(*tokens));
}

Result<> LlamaService::append_input(SessionId session, std::span<const Token> tokens) {
  const auto entry = impl_->entry(session);
  if (!entry) return std::unexpected(entry.error());
  for (const Token token : tokens) {
    if (impl_->model->valid(token)) continue;
    return fail(errc::invalid_argument,
                fmt::format("token {} is not in the vocabulary of {} tokens", token, facts().n_vocab), "tokens");
  }
  return impl_->append(*entry, {tokens.begin(), tokens.end()});
}

Result<StreamHandle> LlamaService::generate_stream(SessionId session, GenerateOptions options) {
  const auto entry = impl_->entry(session);
  if (!entry) return std::unexpected(entry.error());
  auto sampler = Sampler::make(*impl_->model, options.sampling, options.grammar);
  if (!sampler) return std::unexpected(sampler.error());

  Worker& worker = *impl_->workers[entry->worker];
  SessionShared& shared = *entry->shared;
  if (shared.generations.fetch_add(1) > 0 && !options.supersede) {
    --shared.generations;
    return fail(errc::session_busy, fmt::format("session {} is generating already", session.value()), "session");
  }
  const std::uint32_t most = impl_->options.max_sequences + impl_->options.max_queue;
  if (const std::uint32_t before = worker.in_flight().fetch_add(1); before >= most) {
    --worker.in_flight();
    --shared.generations;
    return fail(errc::queue_full,
                fmt::format("{} generations are under way or waiting; the limit is {}", before, most));
  }

  Generation generation;
  // The stream may outlive the service, so it holds the box, not the worker.
  const std::shared_ptr<CommandBox> box = worker.box();
  // The pointer is compared only: the worker checks that the stream it would cancel is still the one that runs.
  auto self = std::make_shared<const StreamState*>(nullptr);
  generation.stream = std::make_shared<StreamState>(
      impl_->options.stream_tokens,
      StreamState::Owner{
          .drained = [box] { box->wake(); },
          .cancelled = [box, self, session] { box->post(CancelGeneration{session, *self}, session.value()); }});
  *self = generation.stream.get();
  generation.sampler = std::move(*sampler);
  generation.max_new_tokens = options.max_new_tokens;
  generation.n_probs = options.n_probs;
  generation.render_special = options.render_special;
  generation.preserved_tokens = std::move(options.preserved_tokens);
  generation.cutter = TextCutter(std::move(options.stop));
  generation.posted = MonoClock::now();
  StreamHandle handle(generation.stream);
  if (!box->post(StartGeneration{session, std::move(generation)}, options.supersede ? session.value() : 0)) {
    return fail(errc::worker_shutdown, "the service is going away");
  }
  return handle;
}

Result<> LlamaService::cancel_generate(SessionId session) {
  const auto entry = impl_->entry(session);
  if (!entry) return std::unexpected(entry.error());
  if (impl_->workers[entry->worker]->box()->post(CancelGeneration{session}, session.value())) return {};
  return fail(errc::worker_shutdown, "the service is going away");
}

Result<> LlamaService::end_session(SessionId session) {
  const std::scoped_lock lock(impl_->mutex);
  const auto found = impl_->sessions.find(session.value());
  if (found == impl_->sessions.end())
    return fail(errc::session_not_found, fmt::format("no session {}", session.value()), "session");
  impl_->workers[found->second.worker]->box()->post(EndSession{session}, session.value());
  impl_->sessions.erase(found);
  return {};
}

Result<std::uint32_t> LlamaService::worker_of(SessionId session) const {
  const auto entry = impl_->entry(session);
  if (!entry) return std::unexpected(entry.error());
  return entry->worker;
}

void LlamaService::set_threads(std::int32_t n_threads, std::int32_t n_threads_batch) {
  const SetThreads threads{std::max(1, n_threads), std::max(1, n_threads_batch)};
  for (auto& worker : impl_->workers) worker->box()->post(threads);
  for (auto& pooler : impl_->poolers) pooler->box().post(threads);
}

DownsizeReport LlamaService::downsize() {
  std::vector<std::future<DownsizeReport>> reports;
  for (auto& worker : impl_->workers) {
    auto promise = std::make_shared<std::promise<DownsizeReport>>();
    auto report = promise->get_future();
    if (worker->box()->post(Downsize{[promise](DownsizeReport done) { promise->set_value(done); }}))
      reports.push_back(std::move(report));
  }
  DownsizeReport sum{.done = !reports.empty()};
  for (auto& report : reports) {
    const DownsizeReport one = report.get();
    sum.done = sum.done && one.done;
    sum.sessions += one.sessions;
    sum.parked_bytes += one.parked_bytes;
  }
  malloc_trim(0);  // what was freed goes back to the system now
  return sum;
}

Stats LlamaService::stats() const {
  Stats stats;
  for (const auto& worker : impl_->workers) stats.workers.push_back(worker->stats());
  for (const auto& pooler : impl_->poolers) stats.workers.push_back(pooler->stats());
  return stats;
}

}  // namespace corral::engine
