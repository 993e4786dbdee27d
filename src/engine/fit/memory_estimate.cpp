#include "engine/fit/memory_estimate.h"

#include <algorithm>
#include <exception>
#include <fstream>
#include <unordered_map>

#include <fmt/core.h>
#include <gguf.h>
#include <unistd.h>

#include "engine/llama/backends.h"
#include "engine/llama/context_params.h"
#include "engine/llama/devices.h"
#include "engine/llama/llama_internal.h"
#include "engine/llama/llama_log.h"
#include "engine/media/projector.h"
#include "engine/speculate/model_drafter.h"
#include "engine/values/errors.h"

namespace corral::engine {
namespace {

struct FreeContext {
  void operator()(llama_context* context) const { llama_free(context); }
};
struct FreeGguf {
  void operator()(gguf_context* file) const { gguf_free(file); }
};
using GgufPtr = std::unique_ptr<gguf_context, FreeGguf>;

GgufPtr open_gguf(const std::string& path) {
  return GgufPtr(gguf_init_from_file(path.c_str(), {.no_alloc = true, .ctx = nullptr}));
}

std::uint64_t resident_now() {
  std::ifstream statm("/proc/self/statm");
  std::uint64_t all = 0, resident = 0;
  statm >> all >> resident;
  return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

// Device of buffers of this type; null: the host.
ggml_backend_dev_t device_of(ggml_backend_buffer_type_t type) {
  const ggml_backend_dev_t device = ggml_backend_buft_is_host(type) ? nullptr : ggml_backend_buft_get_device(type);
  if (device == nullptr) return nullptr;
  const auto kind = ggml_backend_dev_type(device);
  return kind == GGML_BACKEND_DEVICE_TYPE_GPU || kind == GGML_BACKEND_DEVICE_TYPE_IGPU ? device : nullptr;
}

std::vector<ggml_backend_dev_t> devices_of(const llama_model* model) {
  std::vector<ggml_backend_dev_t> devices(static_cast<std::size_t>(llama_model_n_devices(model)));
  for (std::size_t i = 0; i < devices.size(); ++i) devices[i] = llama_model_get_device(model, static_cast<int>(i));
  return devices;
}

// Collects the parts of an estimate.
class Sum {
 public:
  Sum() { estimate_.devices.push_back({.device = std::string(kHostDevice)}); }

  DeviceMemory& on(ggml_backend_buffer_type_t type) {
    const ggml_backend_dev_t device = device_of(type);
    if (device == nullptr) return estimate_.devices.front();
    const auto [place, is_new] = places_.emplace(device, estimate_.devices.size());
    if (is_new) {
      ggml_backend_dev_props props{};
      ggml_backend_dev_get_props(device, &props);
      estimate_.devices.push_back({.device = device_name(device),
                                   .have = props.memory_total,
                                   .pci = props.device_id != nullptr ? props.device_id : "",
                                   .integrated = props.type == GGML_BACKEND_DEVICE_TYPE_IGPU});
    }
    return estimate_.devices[place->second];
  }
  MemoryEstimate& estimate() { return estimate_; }

 private:
  MemoryEstimate estimate_;
  std::unordered_map<ggml_backend_dev_t, std::size_t> places_;
};

bool maps_file(const llama_model* model, const EngineLoadOptions& options) {
  if (options.mmap != Toggle::automatic) return options.mmap == Toggle::on;
  if (options.mlock) return true;  // then model_params() sets both
  for (const ggml_backend_dev_t device : devices_of(model)) {
    ggml_backend_dev_props props;
    ggml_backend_dev_get_props(device, &props);
    if (!props.caps.mmap_support) return false;
  }
  return true;
}

// A loader that maps the file keeps, of each part, the pages from the first to the last weight that is used in place:
// weights in plain host memory. Weights that lie between and were copied elsewhere stay mapped as well.
void add_mapping(const Model& model, MemoryEstimate& estimate) {
  std::unordered_map<std::string, const ggml_tensor*> in_place;
  for (const auto& [name, tensor] : llama_internal_get_tensor_map(model.handle())) {
    if (tensor->buffer != nullptr && ggml_backend_buft_is_host(ggml_backend_buffer_get_type(tensor->buffer)))
      in_place.emplace(name, tensor);
  }
  for (const std::string& path : model.files()) {
    const GgufPtr file = open_gguf(path);
    if (!file) continue;  // it was readable before
    std::uint64_t begin = ~0ull, end = 0;
    for (std::int64_t i = 0; i < gguf_get_n_tensors(file.get()); ++i) {
      if (!in_place.contains(gguf_get_tensor_name(file.get(), i))) continue;
      const std::uint64_t offset = gguf_get_tensor_offset(file.get(), i), size = gguf_get_tensor_size(file.get(), i);
      begin = std::min(begin, offset);
      end = std::max(end, offset + size);
      estimate.in_place += size;
    }
    if (end > begin) estimate.mapped += end - begin;
  }
  // Weights are counted with the padding of buffers, which those in the file don't have.
  estimate.in_place = std::min(estimate.in_place, estimate.devices.front().weights);
}

// Each pair of an adapter's matrices lies beside the weight it changes.
void add_adapter(const llama_model* model, const std::string& path, Sum& sum) {
  const GgufPtr file = open_gguf(path);
  if (!file) return;  // the load will report it
  std::unordered_map<std::string_view, ggml_backend_buffer_type_t> places;
  for (const auto& [name, tensor] : llama_internal_get_tensor_map(model)) {
    if (tensor->buffer != nullptr) places[name] = ggml_backend_buffer_get_type(tensor->buffer);
  }
  for (std::int64_t i = 0; i < gguf_get_n_tensors(file.get()); ++i) {
    std::string_view name = gguf_get_tensor_name(file.get(), i);
    name = name.substr(0, name.rfind(".lora_"));
    const auto place = places.find(name);
    if (place != places.end()) sum.on(place->second).weights += gguf_get_tensor_size(file.get(), i);
  }
}

// What a process touches once it serves and the dry run doesn't: pages of libraries, threads' own heaps, the work space
// of the CPU's kernels. Measured; the work space grows with the model, so slowly that it doesn't matter for large ones.
constexpr std::uint64_t kServing = 4 << 20;

struct MeasuredContext {
  llama_memory_breakdown buffers;
  std::uint64_t process = 0;
};

Result<MeasuredContext> measure_one_context(const Model& model, const llama_context_params& params) {
  const LogCapture log;
  // A recurrent state is allocated for real, also in a dry run: it must not be counted as the process's own.
  const std::uint64_t before = resident_now();
  const std::unique_ptr<llama_context, FreeContext> context(llama_init_from_model(model.handle(), params));
  if (!context) {
    return fail(errc::unsupported,
                fmt::format("no context of {} tokens for '{}': {}", params.n_ctx, model.facts().path, log.text()));
  }
  return MeasuredContext{llama_get_memory_breakdown(context.get()), model.facts().recurrent ? before : resident_now()};
}

// Even a dry run allocates a few dozen bytes per cell. So the size of a very large context is extrapolated from two
// smaller ones: each part is proportional to the cells, or constant.
Result<MeasuredContext> measure_context(const Model& model, llama_context_params params) {
  constexpr std::uint32_t kLarge = 1 << 18, kHalf = kLarge / 2;
  if (params.n_ctx <= kLarge) return measure_one_context(model, params);
  const double steps = static_cast<double>(params.n_ctx - kLarge) / kHalf;
  const auto extend = [steps](auto smaller, auto larger) {
    const double growth = larger > smaller ? static_cast<double>(larger - smaller) : 0;
    return larger + static_cast<decltype(larger)>(growth * steps);
  };
  params.n_ctx = kHalf;
  auto smaller = measure_one_context(model, params);
  if (!smaller) return smaller;
  params.n_ctx = kLarge;
  auto larger = measure_one_context(model, params);
  if (!larger) return larger;
  for (auto& [type, bytes] : larger->buffers) {
    const llama_memory_breakdown_data& before = smaller->buffers[type];
    bytes.context = extend(before.context, bytes.context);
    bytes.compute = extend(before.compute, bytes.compute);
  }
  larger->process = extend(smaller->process, larger->process);
  return larger;
}

// Cells of every layer as wide as the first one's, twice for models whose heads are wider together than the model is,
// and attention computed without fusing.
std::uint64_t bound(const Model& model, const llama_context_params& params, const EngineLoadOptions& options) {
  const auto positive = [](std::int32_t value) { return static_cast<std::uint64_t>(std::max(value, 1)); };
  const llama_model* const m = model.handle();
  const std::uint64_t per_value = params.type_k == GGML_TYPE_F32 || params.type_v == GGML_TYPE_F32 ? 4 : 2;
  // If the first layer has no attention, assume as many KV heads as heads.
  const std::int32_t heads = llama_model_n_head(m), kv_heads = llama_model_n_head_kv(m);
  const std::uint64_t width =
      positive(llama_model_n_embd(m)) * positive(kv_heads > 0 ? kv_heads : heads) / positive(heads);
  const std::uint64_t cell = positive(llama_model_n_layer(m)) * width * 2 * 2 * per_value;
  const std::uint64_t scores = std::uint64_t{params.n_ubatch} * positive(llama_model_n_head(m)) * sizeof(float);
  constexpr std::uint64_t kRest = 512ull << 20;
  return worker_count(options) * (std::uint64_t{params.n_ctx} * (cell + scores) + kRest);
}

Error too_little(errc cause, const EngineLoadOptions& options, std::uint32_t n_ctx, std::vector<MemoryNeed> needs) {
  Error error(make_error_code(cause),
              fmt::format("'{}' with a context of {} tokens {}: use a smaller context{}", options.path, n_ctx,
                          in_words(needs, cause == errc::never_fits ? MemoryScope::altogether : MemoryScope::free),
                          cause == errc::never_fits ? "" : " or unload another model"),
              "n_ctx");
  error.memory = std::move(needs);
  return error;
}

Error with_needs(Error error, std::vector<MemoryNeed> needs, MemoryScope have) {
  error.message += " (it " + in_words(needs, have) + ")";
  error.memory = std::move(needs);
  return error;
}

std::uint64_t tensor_bytes(const std::string& path) {
  const GgufPtr file = open_gguf(path);
  std::uint64_t bytes = 0;
  for (std::int64_t i = 0; file && i < gguf_get_n_tensors(file.get()); ++i)
    bytes += gguf_get_tensor_size(file.get(), i);
  return bytes;
}

// The projector: on each device the weights as far as they are there, and the memory of its computation.
Result<> add_projector(const EngineLoadOptions& options, Sum& sum) {
  if (auto there = check_projector(options.mmproj); !there) return there;
  std::uint64_t weights = tensor_bytes(options.mmproj);
  auto memory = projector_memory(options);
  std::ranges::sort(memory, std::ranges::greater(), [](const auto& one) { return one.second; });
  for (const auto& [device, bytes] : memory) {
    DeviceMemory& on = sum.on(ggml_backend_dev_buffer_type(device));
    const std::uint64_t there = std::min(weights, bytes);
    on.weights += there;
    on.compute += bytes - there;
    weights -= there;
  }
  return {};
}

// Estimates a model and its contexts, without its draft model. Sets `n_ctx` to the tokens of a context, and `loaded` to
// the model without weights.
Result<MemoryEstimate> estimate_model(const EngineLoadOptions& options, std::uint32_t workers, std::uint32_t& n_ctx,
                                      bool& may_draft, std::shared_ptr<Model>& loaded) {
  const auto model = Model::load_empty(options);
  if (!model) return std::unexpected(model.error());
  loaded = *model;
  const auto params = context_params(**model, options, {});
  if (!params) return std::unexpected(params.error());
  n_ctx = params->n_ctx;
  may_draft = (*model)->facts().kind == ModelKind::generative && (*model)->memory_rules().drafts;
  auto context = measure_context(**model, *params);
  if (!context) return std::unexpected(context.error());

  Sum sum;
  sum.estimate().process = context->process + kServing;
  for (const auto& [type, bytes] : context->buffers) {
    if (bytes.model + bytes.context + bytes.compute == 0) continue;
    DeviceMemory& device = sum.on(type);
    device.weights += bytes.model;
    device.kv += bytes.context * workers;
    device.compute += bytes.compute * workers;
  }
  const ModelFacts& facts = (*model)->facts();
  const bool generative = facts.kind == ModelKind::generative;
  const std::uint64_t row = (generative ? facts.n_vocab : facts.n_embd) * sizeof(float);
  const std::uint32_t rows = std::max(params->n_seq_max, generative ? params->n_outputs_max : 0);
  sum.estimate().devices.front().compute += row * rows * workers;
  for (const LoraAdapter& lora : options.loras) add_adapter((*model)->handle(), lora.path, sum);
  if (maps_file((*model)->handle(), options)) add_mapping(**model, sum.estimate());
  if (!options.mmproj.empty()) {
    if (auto added = add_projector(options, sum); !added) return std::unexpected(std::move(added.error()));
  }
  // Last, since it takes memory.
  if (auto fit = (*model)->check_adapters(options.loras); !fit) return std::unexpected(fit.error());
  return std::move(sum.estimate());
}

// Counts the process once; the second vocabulary is small beside the weights.
void add(MemoryEstimate& sum, const MemoryEstimate& more) {
  for (const DeviceMemory& device : more.devices) {
    const auto known = std::ranges::find(sum.devices, device.device, &DeviceMemory::device);
    if (known == sum.devices.end()) {
      sum.devices.push_back(device);
      continue;
    }
    known->weights += device.weights;
    known->kv += device.kv;
    known->compute += device.compute;
  }
  sum.in_place += more.in_place;
  sum.mapped += more.mapped;
  sum.process = std::max(sum.process, more.process);
}

}  // namespace

Result<MemoryEstimate> estimate_memory(const EngineLoadOptions& options) {
  if (auto loaded = load_backends(); !loaded) return std::unexpected(loaded.error());
  const std::uint32_t workers = worker_count(options);
  std::uint32_t n_ctx = 0;
  bool may_draft = false;
  std::shared_ptr<Model> target, guesser;
  auto estimate = estimate_model(options, workers, n_ctx, may_draft, target);
  if (!estimate || !may_draft || options.speculative.max_tokens == 0 || options.speculative.draft_path.empty())
    return estimate;
  auto draft = estimate_model(draft_options(options, n_ctx), workers, n_ctx, may_draft, guesser);
  if (!draft) {
    draft.error().param = kDraftOption;
    return draft;
  }
  if (auto fits = check_draft(*guesser, *target); !fits) return std::unexpected(fits.error());
  add(*estimate, *draft);
  return estimate;
}

Result<std::uint64_t> context_bound(const Model& model, const EngineLoadOptions& options) {
  const auto params = context_params(model, options, {});
  if (!params) return std::unexpected(params.error());
  return bound(model, *params, options);
}

std::vector<ContextMemory> context_memory(const Model& model, const EngineLoadOptions& options,
                                          const llama_context* context, std::uint32_t contexts,
                                          const HostMemory& host) {
  const bool maps = maps_file(model.handle(), options);
  std::unordered_map<ggml_backend_dev_t, std::uint64_t> own;
  std::uint64_t mapped = 0;
  for (const auto& [type, bytes] : llama_get_memory_breakdown(context)) {
    own[device_of(type)] += bytes.context + bytes.compute;
    if (maps && ggml_backend_buft_is_host(type)) mapped += bytes.model;
  }
  std::vector<ContextShare> shares;
  for (const auto& [device, bytes] : own) {
    const bool integrated = device != nullptr && ggml_backend_dev_type(device) == GGML_BACKEND_DEVICE_TYPE_IGPU;
    shares.push_back({.device = device == nullptr ? std::string(kHostDevice) : device_name(device),
                      .bytes = bytes,
                      .integrated = integrated});
  }
  const HostMemory beside{.total = host.total, .available = host.available - std::min(host.available, mapped)};
  const auto pools = pools_of(beside, devices_of(model.handle()), MemoryScope::free);
  return context_room(shares, llama_n_ctx(context), contexts, pools);
}

Result<> check_contexts_fit(const Model& model, const EngineLoadOptions& options, const HostMemory& host) {
  return check_contexts_fit(model, options, host.total, pools_of(host, devices_of(model.handle()), MemoryScope::free));
}

Result<> check_contexts_fit(const Model& model, const EngineLoadOptions& options, std::uint64_t host_total,
                            std::span<const DeviceBudget> free) {
  const auto params = context_params(model, options, {});
  if (!params) return std::unexpected(params.error());
  // Everything may be on one device.
  const std::uint64_t max = bound(model, *params, options);
  const auto has_room = [max](const DeviceBudget& pool) { return !pool.free || *pool.free >= max; };
  if (std::ranges::all_of(free, has_room)) return {};
  auto estimate = estimate_memory(options);
  if (!estimate) return std::unexpected(estimate.error());
  estimate->process = 0;  // this process has the model already
  if (auto needs = never_fits(*estimate, host_total); !needs.empty())
    return std::unexpected(too_little(errc::never_fits, options, params->n_ctx, std::move(needs)));
  estimate->in_place = 0;
  for (DeviceMemory& device : estimate->devices) device.weights = 0;
  auto needs = too_small(*estimate, free);
  if (needs.empty()) return {};
  return std::unexpected(too_little(errc::out_of_memory, options, params->n_ctx, std::move(needs)));
}

namespace {

Error with_facts(Error error, const EngineLoadOptions& options, const HostMemory& host, FailedPart part) {
  if (error.code != errc::out_of_memory || !error.memory.empty()) return error;
  auto estimate = estimate_memory(options);
  if (!estimate) return error;
  estimate->process = 0;  // this process has it already
  if (auto needs = never_fits(*estimate, host.total); !needs.empty()) {
    error.code = make_error_code(errc::never_fits);
    return with_needs(std::move(error), std::move(needs), MemoryScope::altogether);
  }
  if (part == FailedPart::context) {
    EngineLoadOptions one = options;
    one.workers = 1;
    one.speculative = {};
    estimate = estimate_memory(one);
    if (!estimate) return error;
    estimate->process = estimate->in_place = 0;
    for (DeviceMemory& device : estimate->devices) device.weights = 0;
  }
  for (const FoundDevice& found : found_devices()) {
    const auto device = std::ranges::find(estimate->devices, device_name(found.handle), &DeviceMemory::device);
    if (device == estimate->devices.end()) continue;  // a query would open a GPU that the load does not use
    std::size_t free = 0, total = 0;
    ggml_backend_dev_memory(found.handle, &free, &total);
    device->have = free;
  }
  auto needs = needs_of(*estimate, host.total != 0 ? std::optional(host.available) : std::nullopt);
  const auto fits = [](const MemoryNeed& need) { return need.need <= need.have; };
  if (!std::ranges::all_of(needs, fits)) std::erase_if(needs, fits);
  return needs.empty() ? error : with_needs(std::move(error), std::move(needs), MemoryScope::free);
}

}  // namespace

Error explain_failure(Error error, const EngineLoadOptions& options, const HostMemory& host, FailedPart part) {
  try {
    return with_facts(error, options, host, part);
  } catch (const std::exception&) {  // no memory for an explanation either
    return error;
  }
}

}  // namespace corral::engine
