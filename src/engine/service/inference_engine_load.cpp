// From options to running workers.
#include <algorithm>
#include <exception>
#include <new>
#include <utility>

#include <fmt/core.h>

#include "base/log.h"
#include "engine/fit/gpu_fit.h"
#include "engine/fit/memory_estimate.h"
#include "engine/llama/backends.h"
#include "engine/llama/context.h"
#include "engine/llama/context_params.h"
#include "engine/schedule/cpu_costs.h"
#include "engine/schedule/flat_costs.h"
#include "engine/schedule/prefill_thread.h"
#include "engine/service/inference_engine.h"
#include "engine/service/inference_engine_impl.h"
#include "engine/speculate/model_drafter.h"
#include "engine/values/errors.h"

namespace corral::engine {
namespace {

// To save a sequence and put it back, measured on ordinary machines: two copies.
constexpr double kMoveBytesPerMs = 1.5e6;
// Time of flash attention on a CPU to skip a cell of another sequence, per head and layer.
constexpr double kForeignCellNs = 2.0;

// Time per token and pass for a cell of another sequence. A GPU computes on all cells at once: 0.
double foreign_cell_ms(const Model& model, const EngineLoadOptions& options) {
  if (model.facts().gpus > 0) return 0;
  const auto threads = static_cast<double>(compute_threads(model, options));
  return kForeignCellNs * 1e-6 * model.facts().n_layer * llama_model_n_head(model.handle()) / threads;
}

// Chosen by the devices of the model.
std::unique_ptr<CostModel> cost_model(const Model& model, const EngineLoadOptions& options) {
  const ModelFacts& facts = model.facts();
  const auto target_step_ms = static_cast<double>(options.target_step.count());
  if (facts.remotes == 0 &&
      all_on_gpus({.gpus = facts.gpus, .gpu_layers = options.n_gpu_layers, .layers = facts.n_layer}))
    return std::make_unique<FlatCosts>(FlatCostOptions{.target_step_ms = target_step_ms});
  return std::make_unique<CpuCosts>(
      CpuCostOptions{.measure_rows = options.speculative.measure,
                     .target_step_ms = target_step_ms,
                     .foreign_cell_ms = foreign_cell_ms(model, options),
                     .move_cell_ms = static_cast<double>(model.kv_bytes_per_token()) / kMoveBytesPerMs});
}

// A layout change moves the cells of all sessions: if nothing can be parked, idle sessions would lose theirs. And cells
// of a part must be valid in a unified layout of `n_ctx`.
KvLayout layout_of(const Model& model, const EngineLoadOptions& options, bool parks, std::uint32_t n_ctx) {
  // In a split over machines all cells would cross the network twice.
  if (model.facts().remotes > 0) return KvLayout::unified;
  const bool movable = parks && !model.has_long_rope(n_ctx);
  const bool may_change = model.memory_rules().splits && (movable || options.kv_layout == KvLayout::split);
  return may_change ? options.kv_layout : KvLayout::unified;
}

// Identifies what can use parked KV: the same weights, cache types and adapters, the same libllama, the same RoPE
// factors.
std::string fingerprint(const EngineLoadOptions& options, const Model& model) {
  std::string text =
      fmt::format("{} {} {} {} {} {}", model.identity(), model.facts().model_bytes, model.facts().n_params,
                  options.cache_type_k, options.cache_type_v, running_llama_version());
  text += options.flash_attention == Toggle::off ? " no-fa" : "";
  if (const auto params = context_params(model, options, {}); params && model.has_long_rope(params->n_ctx))
    text += " long-rope";
  return text + " " + model.facts().adapters;
}

std::shared_ptr<ParkedStore> open_store(const EngineLoadOptions& options, const Model& model,
                                        std::shared_ptr<BackgroundExecutor> executor,
                                        std::shared_ptr<BackgroundExecutor> disk) {
  if (options.park_bytes == 0 || options.prefix_cache_tokens == 0) return nullptr;
  auto store = std::make_shared<ParkedStore>(ParkedStoreOptions{.memory_bytes = options.park_bytes,
                                                                .whole_only = model.memory_rules().parks_whole,
                                                                .folder = options.park_dir,
                                                                .fingerprint = fingerprint(options, model),
                                                                .folder_bytes = options.park_disk_bytes,
                                                                .disk = std::move(disk),
                                                                .executor = std::move(executor)});
  if (const auto opened = store->open(); !opened) log::warning("engine", "{}", opened.error().message);
  return store;
}

SetThreads threads_of(const Model& model, const EngineLoadOptions& options) {
  const std::int32_t threads = compute_threads(model, options);
  return {.n_threads = threads, .n_threads_batch = options.n_threads_batch > 0 ? options.n_threads_batch : threads};
}

// If the dry run fails, the load reports the error.
void fit_to_free(EngineLoadOptions& options) {
  const auto fitted = fit_to_gpus(options, MemoryScope::free);
  if (!fitted || !*fitted) return;
  options.n_gpu_layers = (*fitted)->gpu_layers;
  if (options.n_gpu_layers >= 0)
    log::info("engine", "{} layers of '{}' fit into the memory of the GPUs", options.n_gpu_layers, options.path);
}

// Chunk size of the lane: as fast per token as larger ones, and short enough for changes of its thread count.
constexpr std::uint32_t kLaneBatch = 256;

}  // namespace

// The lane's memory is not part of the estimate of a load: it is temporary, and only used while much more is free.
std::unique_ptr<PrefillLane> InferenceEngine::Impl::make_lane(const std::shared_ptr<CommandBox>& box,
                                                              std::uint32_t n_ctx) {
  if (!options.prefill_lane || model->facts().gpus > 0 || model->facts().remotes > 0) return nullptr;
  if (model->has_long_rope(n_ctx)) return nullptr;
  EngineLoadOptions lane = options;
  lane.n_batch = kLaneBatch;
  lane.max_sequences = 1;
  lane.workers = 1;
  lane.speculative = {};
  LaneMemoryMaker make = [this, lane = std::move(lane)](
                             std::uint32_t tokens,
                             const std::atomic<bool>& abort) mutable -> Result<std::unique_ptr<KvMemory>> {
    lane.n_ctx = std::max(tokens, kLaneBatch);
    const auto bytes = context_bound(*model, lane);
    if (!bytes) return std::unexpected(bytes.error());
    // The system assigns memory when it is written: the lanes of all workers may see the same bytes as free.
    const std::uint64_t lanes = worker_count(options);
    if (const HostMemory host = read_host_memory(); host.total != 0 && *bytes > host.available / (lanes + 1))
      return fail(errc::out_of_memory, "too little free memory for the prefill lane");
    return LlamaContext::make(model, lane, abort);
  };
  return std::make_unique<PrefillThread>(std::move(make),
                                         [box](PrefillResult result) { box->post(std::move(result)); });
}

Result<std::unique_ptr<LlamaContext>> InferenceEngine::Impl::make_context(const std::atomic<bool>& abort) {
  auto made = LlamaContext::make(model, options, abort);
  if (!made) return std::unexpected(explain(made.error(), {}));
  return made;
}

Error InferenceEngine::Impl::explain(const Error& error, KvShape shape) const {
  EngineLoadOptions asked = options;
  if (shape.cells != 0) asked.n_ctx = shape.cells;
  return explain_failure(error, asked, read_host_memory(), FailedPart::context);
}

Result<> InferenceEngine::Impl::add_worker() {
  auto box = std::make_shared<CommandBox>();
  KvMaker make = [this, box](KvShape shape) -> Result<std::unique_ptr<KvMemory>> {
    return LlamaContext::make(model, options, box->abort_flag(), shape);
  };
  auto memory = make_context(box->abort_flag());
  if (!memory) return std::unexpected(std::move(memory.error()));
  take_facts(**memory);
  KvGrowth growth = [this](const KvMemory& now, std::uint32_t needed) {
    const auto* const handle = static_cast<const LlamaContext&>(now).handle();
    const auto free = context_memory(*model, options, handle, 1, read_host_memory());
    return free.empty() ? now.n_ctx() : grown_context(now.n_ctx(), needed, model->facts().n_ctx, free);
  };
  auto explained = [this](const Error& error, KvShape shape) { return explain(error, shape); };
  auto drafter = make_drafter((*memory)->n_ctx());
  if (!drafter) return std::unexpected(drafter.error());
  auto lane = make_lane(box, (*memory)->n_ctx());
  const WorkerOptions worker{
      .max_sequences = options.max_sequences,
      .prefix_cache_tokens = std::min(options.prefix_cache_tokens, (*memory)->n_ctx() / 2),
      .max_prefix_cache_tokens = options.prefix_cache_tokens,
      .max_cells = grows() ? model->facts().n_ctx : 0,
      .layout = layout_of(*model, options, store != nullptr, (*memory)->n_ctx()),
      .cell_multiple = kCellMultiple,
      .threads = threads_of(*model, options),
      .park_at_end = !options.park_dir.empty(),
      .draft_tokens = options.speculative.max_tokens,
      .draft_active = draft_model ? active_beside_draft_model(options.speculative)
                                  : options.speculative.max_active.value_or(kMaxSequences),
  };
  workers.push_back(std::make_unique<Worker>(WorkerCore::Parts{.tokens = *model,
                                                               .memory = std::move(*memory),
                                                               .make = std::move(make),
                                                               .growth = std::move(growth),
                                                               .box = std::move(box),
                                                               .store = store,
                                                               .costs = cost_model(*model, options),
                                                               .drafter = std::move(*drafter),
                                                               .lane = std::move(lane),
                                                               .media = encoder,
                                                               .executor = executor,
                                                               .explain = std::move(explained)},
                                             worker));
  return {};
}

Result<> InferenceEngine::Impl::add_pooler() {
  auto box = std::make_shared<PoolingBox>();
  auto make = [this, box] { return make_context(box->abort_flag()); };
  auto context = make();
  if (!context) return std::unexpected(std::move(context.error()));
  take_facts(**context);
  poolers.push_back(std::make_unique<PoolingWorker>(model, std::move(*context), std::move(make), std::move(box)));
  return {};
}

bool InferenceEngine::Impl::grows() const {
  return options.n_ctx == 0 && model->facts().kind == ModelKind::generative && options.kv_layout != KvLayout::split;
}

// Largest size to which the contexts may grow, by the free memory beside the first of them.
std::uint32_t InferenceEngine::Impl::max_context(const LlamaContext& context) const {
  const std::uint32_t first = context.n_ctx();
  const auto free = context_memory(*model, options, context.handle(), worker_count(options), read_host_memory());
  std::uint32_t max = automatic_context(model->facts().n_ctx_train, free);
  // Cells that were computed with RoPE factors for short contexts are invalid with those for long ones.
  while (max > first && model->has_long_rope(max) && !model->has_long_rope(first)) max = std::max(first, max / 2);
  return max;
}

// Most tokens of a session in a pool of a fixed size.
std::uint32_t InferenceEngine::Impl::session_context(std::uint32_t cells) const {
  const ModelFacts& facts = model->facts();
  const std::uint32_t max = facts.n_ctx_train != 0 ? std::min(cells, facts.n_ctx_train) : cells;
  const bool limited = options.n_ctx_session != 0 && facts.kind == ModelKind::generative;
  return limited ? std::min(max, options.n_ctx_session) : max;
}

void InferenceEngine::Impl::take_facts(const LlamaContext& context) {
  ModelFacts& facts = model->mutable_facts();
  facts.n_batch = context.n_batch();
  if (!grows()) {
    facts.n_ctx = session_context(context.n_ctx());
  } else if (workers.empty()) {
    facts.n_ctx = max_context(context);
  }
}

Result<> InferenceEngine::Impl::load_projector() {
  ModelFacts& facts = model->mutable_facts();
  if (options.mmproj.empty() || facts.kind != ModelKind::generative) return {};
  auto loaded = Projector::load(model, options);
  if (!loaded) return std::unexpected(explain_failure(loaded.error(), options, read_host_memory()));
  projector = std::move(*loaded);
  facts.vision = projector->kinds().vision;
  facts.sound = projector->kinds().sound;
  auto encode = [used = projector.get()](const MediaPiece& piece) { return used->encode(piece); };
  encoder = std::make_shared<EncoderThread>(std::move(encode), options.media_bytes);
  return {};
}

Result<> InferenceEngine::check(const EngineLoadOptions& options) {
  if (options.workers && (*options.workers < 1 || *options.workers > kMaxWorkers)) {
    return fail(errc::invalid_worker_count,
                fmt::format("workers is {}; 1 to {} are possible", *options.workers, kMaxWorkers), "workers");
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
  if (options.speculative.max_tokens > kMaxDraftTokens) {
    return fail(errc::invalid_argument,
                fmt::format("max_tokens of speculation is {}; 0 to {} are possible", options.speculative.max_tokens,
                            kMaxDraftTokens),
                "speculative");
  }
  if (auto there = Model::check_file(options.path); !there || options.mmproj.empty()) return there;
  return check_projector(options.mmproj);
}

Result<std::unique_ptr<InferenceEngine>> InferenceEngine::load(EngineLoadOptions options, Progress progress,
                                                               std::shared_ptr<SessionIds> ids) {
  const std::string path = options.path;
  try {
    return load_all(std::move(options), std::move(progress), std::move(ids));
  } catch (const std::bad_alloc&) {
    return std::unexpected(load_failed(errc::out_of_memory, {path, "the system is out of memory"}));
  } catch (const std::exception& failure) {  // for example, no thread
    return std::unexpected(load_failed(errc::load_failed, {path, failure.what()}));
  }
}

Result<std::unique_ptr<InferenceEngine>> InferenceEngine::load_all(EngineLoadOptions options, Progress progress,
                                                                   std::shared_ptr<SessionIds> ids) {
  if (auto checked = check(options); !checked) return std::unexpected(checked.error());
  if (auto loaded = load_backends(); !loaded) return std::unexpected(loaded.error());
  fit_to_free(options);
  auto model = Model::load(options, progress);
  if (!model) return std::unexpected(explain_failure(model.error(), options, read_host_memory()));
  if (auto fits = check_contexts_fit(**model, options, read_host_memory()); !fits) return std::unexpected(fits.error());

  auto impl = std::make_unique<Impl>();
  impl->options = std::move(options);
  impl->model = *model;
  impl->ids = ids ? std::move(ids) : std::make_shared<SessionIds>(1);
  ModelFacts& facts = (*model)->mutable_facts();
  const EngineLoadOptions& o = impl->options;
  facts.workers = worker_count(o);
  facts.max_sequences = o.max_sequences;
  if (auto loaded = impl->load_draft(); !loaded) return std::unexpected(loaded.error());
  if (auto loaded = impl->load_projector(); !loaded) return std::unexpected(loaded.error());
  if (facts.kind == ModelKind::generative) impl->store = open_store(o, **model, impl->executor, impl->disk);
  for (std::uint32_t i = 0; i < facts.workers; ++i) {
    auto made = facts.kind == ModelKind::generative ? impl->add_worker() : impl->add_pooler();
    if (!made) return std::unexpected(made.error());
  }
  impl->pooled_requests.emplace(std::uint64_t{o.max_under_way()} * facts.workers);
  impl->pooled_tokens.emplace(kMaxPooledTokens * facts.workers, ClientQuota::First::enters);
  for (auto& worker : impl->workers) worker->start();
  for (auto& pooler : impl->poolers) pooler->start();
  return std::unique_ptr<InferenceEngine>(new InferenceEngine(std::move(impl)));
}

Result<std::unique_ptr<InferenceEngine>> InferenceEngine::load_without_weights(EngineLoadOptions options) {
  if (auto checked = check(options); !checked) return std::unexpected(checked.error());
  if (auto loaded = load_backends(); !loaded) return std::unexpected(loaded.error());
  auto model = Model::load_empty(options);
  if (!model) return std::unexpected(model.error());
  if (auto fit = (*model)->check_adapters(options.loras); !fit) return std::unexpected(fit.error());
  const auto params = context_params(**model, options, {});
  if (!params) return std::unexpected(params.error());
  auto impl = std::make_unique<Impl>();
  impl->options = std::move(options);
  impl->model = *model;
  impl->without_weights = true;
  ModelFacts& facts = (*model)->mutable_facts();
  // Contexts are rounded up.
  const std::uint32_t cells = (params->n_ctx + kCellMultiple - 1) / kCellMultiple * kCellMultiple;
  const std::uint32_t trained = facts.n_ctx_train != 0 ? facts.n_ctx_train : std::max(cells, kUnknownContext);
  facts.n_ctx = impl->grows() ? trained : impl->session_context(cells);
  facts.n_batch = params->n_batch;
  facts.workers = worker_count(impl->options);
  facts.max_sequences = impl->options.max_sequences;
  if (!impl->options.mmproj.empty() && facts.kind == ModelKind::generative) {
    const MediaKinds kinds = media_kinds(impl->options.mmproj);
    facts.vision = kinds.vision;
    facts.sound = kinds.sound;
  }
  return std::unique_ptr<InferenceEngine>(new InferenceEngine(std::move(impl)));
}

}  // namespace corral::engine
