// Loading a model file and finding out what it is for.
#include <algorithm>
#include <charconv>
#include <filesystem>
#include <ranges>
#include <string_view>

#include <fmt/core.h>

#include "base/huge_pages.h"
#include "engine/llama/context_params.h"
#include "engine/llama/devices.h"
#include "engine/llama/llama_internal.h"
#include "engine/llama/llama_log.h"
#include "engine/llama/model.h"
#include "engine/llama/split_devices.h"
#include "engine/llama/weight_layout.h"
#include "engine/values/errors.h"

namespace corral::engine {
namespace {

Result<> check_adapter_file(const std::string& path) {
  std::error_code missing;
  if (std::filesystem::is_regular_file(path, missing)) return {};
  return fail(errc::file_not_found, fmt::format("no LoRA adapter at '{}'", path), "lora");
}

// Identifies the content of a file, without reading all of it.
std::string identity_of(const std::string& path) {
  std::error_code ignored;
  const auto size = std::filesystem::file_size(path, ignored);
  const auto changed = std::filesystem::last_write_time(path, ignored).time_since_epoch().count();
  return fmt::format("{}#{}#{}", path, size, changed);
}

}  // namespace

Result<> Model::check_file(const std::string& path) {
  std::error_code unreadable;
  if (std::filesystem::is_regular_file(path, unreadable)) return {};
  return std::unexpected(load_failed(errc::file_not_found, {path, "the file does not exist"}));
}

Result<std::shared_ptr<Model>> Model::load(const EngineLoadOptions& options,
                                           const std::function<bool(float)>& progress) {
  struct Loading {
    const std::function<bool(float)>& progress;
    bool cancelled = false;
  } loading{progress};
  auto made = model_params(options);
  if (!made) return std::unexpected(made.error());
  llama_model_params& params = made->params;
  if (progress) {
    params.progress_callback_user_data = &loading;
    params.progress_callback = [](float done, void* data) {
      auto& self = *static_cast<Loading*>(data);
      self.cancelled = self.cancelled || !self.progress(done);
      return !self.cancelled;
    };
  }
  auto model = open(options, params);
  if (!model) {
    if (loading.cancelled) return std::unexpected(load_failed(errc::load_cancelled, {options.path, "cancelled"}));
    return model;
  }
  if (auto added = (*model)->add_adapters(options.loras); !added) return std::unexpected(added.error());
  return model;
}

Result<std::shared_ptr<Model>> Model::load_empty(const EngineLoadOptions& options) {
  auto made = model_params(options);
  if (!made) return std::unexpected(made.error());
  llama_model_params& params = made->params;
  params.no_alloc = true;
  params.load_mode = LLAMA_LOAD_MODE_NONE;  // nothing may be mapped; the memory layout does not depend on it
  return open(options, params);
}

Result<std::shared_ptr<Model>> Model::open(const EngineLoadOptions& options, llama_model_params params) {
  if (auto found = check_file(options.path); !found) return std::unexpected(found.error());
  params.use_extra_bufts = may_repack(options, weight_facts(options.path));
  const LogCapture log;
  const HugePagesScope huge_pages;  // for weights outside of the mapped file
  llama_model* const handle = llama_model_load_from_file(options.path.c_str(), params);
  if (handle == nullptr) {
    return std::unexpected(load_failed(log.speaks_of_memory() ? errc::out_of_memory : errc::load_failed,
                                       {options.path, log.text_or("libllama gave no reason")}));
  }
  std::shared_ptr<Model> model(new Model(handle, options));
  if (auto described = model->describe(options); !described) return std::unexpected(described.error());
  return model;
}

namespace {

std::string adapter_meta(const llama_adapter_lora* adapter, const char* key) {
  char text[1024] = {};
  return llama_adapter_meta_val_str(adapter, key, text, sizeof text) > 0 ? std::string(text) : std::string();
}

}  // namespace

Result<> Model::add_adapters(const std::vector<LoraAdapter>& loras) {
  for (const LoraAdapter& lora : loras) {
    if (auto there = check_adapter_file(lora.path); !there) return there;
    const LogCapture log;
    llama_adapter_lora* const adapter = llama_adapter_lora_init(model_.get(), lora.path.c_str());
    if (adapter == nullptr) {
      return fail(log.speaks_of_memory() ? errc::out_of_memory : errc::unsupported,
                  fmt::format("can't use the LoRA adapter '{}' with '{}': {}", lora.path, facts_.path,
                              log.text_or("libllama gave no reason")),
                  "lora");
    }
    if (llama_adapter_get_alora_n_invocation_tokens(adapter) > 0) {
      return fail(errc::unsupported,
                  fmt::format("the LoRA adapter '{}' applies only after certain tokens of a prompt (aLoRA), "
                              "which is not supported",
                              lora.path),
                  "lora");
    }
    adapters_.push_back(adapter);
    adapter_scales_.push_back(lora.scale);
    facts_.adapter_files.push_back({.path = lora.path,
                                    .scale = lora.scale,
                                    .task_name = adapter_meta(adapter, "adapter.lora.task_name"),
                                    .prompt_prefix = adapter_meta(adapter, "adapter.lora.prompt_prefix")});
    if (lora.scale == 0) continue;  // it changes nothing
    facts_.adapters += fmt::format("{}{}:{}", facts_.adapters.empty() ? "" : "|", identity_of(lora.path), lora.scale);
  }
  return {};
}

void Model::apply_adapters(llama_context* context, const AdapterScales& wanted) const {
  if (adapters_.empty()) return;
  // libllama's parameters are not const.
  std::vector<llama_adapter_lora*> adapters;
  std::vector<float> scales;
  const auto& all = wanted.empty() ? adapter_scales_ : wanted;
  for (std::size_t i = 0; i < adapters_.size(); ++i) {
    if (all[i] == 0) continue;
    adapters.push_back(adapters_[i]);
    scales.push_back(all[i]);
  }
  llama_set_adapters_lora(context, adapters.data(), adapters.size(), scales.data());
}

Model::Model(llama_model* model, const EngineLoadOptions& options)
    : model_(model), vocab_(llama_model_get_vocab(model)) {
  facts_.path = options.path;
}

MemoryFacts Model::memory_facts() const {
  return {.state = facts_.recurrent, .window = facts_.window, .architecture = facts_.architecture};
}

Result<> Model::describe(const EngineLoadOptions& options) {
  llama_model* const m = model_.get();
  char text[256] = {};
  llama_model_desc(m, text, sizeof text);
  facts_.description = text;
  facts_.architecture = meta("general.architecture");
  facts_.name = meta("general.name");
  facts_.n_ctx_train = static_cast<std::uint32_t>(std::max(0, llama_model_n_ctx_train(m)));
  facts_.n_embd = static_cast<std::uint32_t>(llama_model_n_embd_out(m));
  facts_.n_layer = static_cast<std::uint32_t>(llama_model_n_layer(m));
  facts_.n_vocab = static_cast<std::uint32_t>(llama_vocab_n_tokens(vocab_));
  facts_.n_params = llama_model_n_params(m);
  facts_.model_bytes = llama_model_size(m);
  for (int i = 0; i < llama_model_n_devices(m); ++i) {
    ggml_backend_dev_t const device = llama_model_get_device(m, i);
    const bool is_cpu = ggml_backend_dev_type(device) == GGML_BACKEND_DEVICE_TYPE_CPU;
    if (!is_cpu) ++(is_remote(device) ? facts_.remotes : facts_.gpus);
  }
  if (const char* chat = llama_model_chat_template(m, nullptr)) facts_.chat_template = chat;
  facts_.bos = llama_vocab_bos(vocab_);
  facts_.eos = llama_vocab_eos(vocab_);
  facts_.eot = llama_vocab_eot(vocab_);
  facts_.sep = llama_vocab_sep(vocab_);
  facts_.gap = {.prefix = llama_vocab_fim_pre(vocab_),
                .suffix = llama_vocab_fim_suf(vocab_),
                .middle = llama_vocab_fim_mid(vocab_),
                .repository = llama_vocab_fim_rep(vocab_),
                .file = llama_vocab_fim_sep(vocab_)};
  facts_.add_bos = llama_vocab_get_add_bos(vocab_);
  facts_.add_eos = llama_vocab_get_add_eos(vocab_);
  facts_.recurrent = llama_model_is_recurrent(m) || llama_model_is_hybrid(m);
  facts_.window = static_cast<std::uint32_t>(std::max(0, llama_model_n_swa(m)));

  if (llama_vocab_type(vocab_) == LLAMA_VOCAB_TYPE_NONE || facts_.n_vocab == 0) {
    return fail(errc::unsupported, fmt::format("'{}' has no vocabulary", facts_.path));
  }
  if (llama_vocab_type(vocab_) == LLAMA_VOCAB_TYPE_BPE) {
    const auto name = meta("tokenizer.ggml.pre");
    pretokenizer_ = Pretokenizer(name.empty() ? "default" : name);
  }
  for (Token token = 0; valid(token); ++token) {
    if (ends_generation(token)) end_tokens_.push_back(token);
  }
  std::int32_t suppressed = 0;
  const llama_token* const first = llama_vocab_get_suppress_tokens(vocab_, &suppressed);
  if (first != nullptr) suppressed_.assign(first, first + suppressed);

  // What the file says about itself: pooling makes an embedding model, rank pooling a reranker.
  const std::string pooling = meta(facts_.architecture + ".pooling_type");
  int value = LLAMA_POOLING_TYPE_NONE;
  std::from_chars(pooling.data(), pooling.data() + pooling.size(), value);
  facts_.pooling =
      value > LLAMA_POOLING_TYPE_NONE && value <= LLAMA_POOLING_TYPE_RANK ? static_cast<Pooling>(value) : Pooling::none;
  facts_.pooling = options.pooling.value_or(facts_.pooling);
  const bool causal = meta(facts_.architecture + ".attention.causal") != "false";
  switch (options.purpose) {
    case ModelTask::automatic:
      facts_.kind = facts_.pooling == Pooling::rank              ? ModelKind::reranker
                    : facts_.pooling != Pooling::none || !causal ? ModelKind::embedding
                                                                 : ModelKind::generative;
      break;
    case ModelTask::generate:
      facts_.kind = ModelKind::generative;
      break;
    case ModelTask::embed:
      facts_.kind = ModelKind::embedding;
      break;
    case ModelTask::rerank:
      facts_.kind = ModelKind::reranker;
      if (facts_.pooling != Pooling::rank) {
        return fail(errc::unsupported, fmt::format("'{}' can't rerank: it has no ranking head", facts_.path),
                    "purpose");
      }
      break;
  }
  if (facts_.kind != ModelKind::generative && facts_.pooling == Pooling::none && !options.pooling)
    facts_.pooling = Pooling::mean;
  if (facts_.kind == ModelKind::generative && (!causal || llama_model_has_encoder(m) || llama_model_is_diffusion(m))) {
    return fail(errc::unsupported,
                fmt::format("'{}' ({}) is not a decoder-only text model", facts_.path, facts_.architecture), "purpose");
  }
  read_default_sampling();
  return {};
}

// The keys llama.cpp 0.5.0 reads for its own defaults.
void Model::read_default_sampling() {
  const auto read = [this](llama_model_meta_key key, auto& to) {
    const std::string text = meta(llama_model_meta_key_str(key));
    std::from_chars(text.data(), text.data() + text.size(), to);
  };
  SamplingOptions& s = default_sampling_;
  read(LLAMA_MODEL_META_KEY_SAMPLING_TOP_K, s.top_k);
  read(LLAMA_MODEL_META_KEY_SAMPLING_TOP_P, s.top_p);
  read(LLAMA_MODEL_META_KEY_SAMPLING_MIN_P, s.min_p);
  read(LLAMA_MODEL_META_KEY_SAMPLING_XTC_PROBABILITY, s.xtc_probability);
  read(LLAMA_MODEL_META_KEY_SAMPLING_XTC_THRESHOLD, s.xtc_threshold);
  read(LLAMA_MODEL_META_KEY_SAMPLING_TEMP, s.temperature);
  read(LLAMA_MODEL_META_KEY_SAMPLING_PENALTY_LAST_N, s.penalty_last_n);
  s.penalty_last_n = std::max(s.penalty_last_n, -1);
  read(LLAMA_MODEL_META_KEY_SAMPLING_PENALTY_REPEAT, s.repeat_penalty);
  read_sampler_order();
  read(LLAMA_MODEL_META_KEY_SAMPLING_MIROSTAT, s.mirostat);
  read(LLAMA_MODEL_META_KEY_SAMPLING_MIROSTAT_TAU, s.mirostat_tau);
  read(LLAMA_MODEL_META_KEY_SAMPLING_MIROSTAT_ETA, s.mirostat_eta);
}

// "top_k;top_p;temperature". Unknown names are left out, as in llama.cpp.
void Model::read_sampler_order() {
  const std::string text = meta(llama_model_meta_key_str(LLAMA_MODEL_META_KEY_SAMPLING_SEQUENCE));
  if (text.empty()) return;
  default_sampling_.samplers.clear();
  for (const auto name : std::views::split(text, ';')) {
    if (const auto kind = sampler_named(std::string_view(name))) default_sampling_.samplers.push_back(*kind);
  }
}

// The choice of llama.cpp 0.5.0.
bool Model::has_long_rope(std::uint32_t n_ctx) const {
  const std::string scaling = facts_.architecture + ".rope.scaling.";
  const std::string type = meta(scaling + "type"), original = meta(scaling + "original_context_length");
  const bool two_sets = type == "longrope" || (type.empty() && !original.empty());
  std::uint32_t short_ones = facts_.n_ctx_train;
  std::from_chars(original.data(), original.data() + original.size(), short_ones);
  return two_sets && n_ctx > short_ones;
}

std::uint64_t Model::kv_bytes_per_token() const {
  const llama_model* const m = model_.get();
  const auto heads = static_cast<std::uint64_t>(std::max(1, llama_model_n_head(m)));
  const auto per_head = static_cast<std::uint64_t>(llama_model_n_embd(m)) / heads;
  return std::uint64_t{2} * 2 * facts_.n_layer * static_cast<std::uint64_t>(llama_model_n_head_kv(m)) * per_head;
}

std::vector<std::string> Model::files() const {
  const std::string parts = meta("split.count");
  int count = 1;
  std::from_chars(parts.data(), parts.data() + parts.size(), count);
  char prefix[4096], part[4096];
  if (count <= 1 || llama_split_prefix(prefix, sizeof prefix, facts_.path.c_str(), 0, count) <= 0) return {facts_.path};
  std::vector<std::string> files;
  for (int i = 0; i < count; ++i) {
    if (llama_split_path(part, sizeof part, prefix, i, count) > 0) files.emplace_back(part);
  }
  return files;
}

std::string Model::identity() const {
  std::string text;
  std::error_code ignored;
  for (const std::string& file : files())
    text += (text.empty() ? "" : "|") + identity_of(std::filesystem::absolute(file, ignored).string());
  return text;
}

std::string Model::meta(const std::string& key) const {
  char small[256];
  const std::int32_t length = llama_model_meta_val_str(model_.get(), key.c_str(), small, sizeof small);
  if (length < 0) return {};
  if (static_cast<std::size_t>(length) < sizeof small) return small;
  std::string text(static_cast<std::size_t>(length) + 1, '\0');
  llama_model_meta_val_str(model_.get(), key.c_str(), text.data(), text.size());
  text.resize(static_cast<std::size_t>(length));
  return text;
}

}  // namespace corral::engine
