#include "backends/external/external_backend.h"

#include <algorithm>

#include <fmt/format.h>

#include "backends/external/exec_server.h"
#include "backends/external/external_process.h"
#include "backends/external/external_target.h"
#include "backends/external/program_path.h"

namespace corral::backends {
namespace {

constexpr Millis kLoadDeadlineBase{60'000};
constexpr std::uint64_t kSlowDiskBytesPerMilli = 50'000;
constexpr std::size_t kExternalLogPace = 4 << 20;  // faster output is delayed

// Options that external programs support. The others concern only corral's own engine and cause no reload.
LoadOptions for_external_programs(const LoadOptions& options) {
  LoadOptions kept;
  const auto above = [](const std::optional<std::int64_t>& value, std::int64_t least) {
    return value && *value >= least ? value : std::nullopt;
  };
  kept.ctx_size = above(options.ctx_size, 1);
  kept.parallel = above(options.parallel, 1);
  kept.threads = above(options.threads, 1);
  kept.gpu_layers = options.llamacpp_backend == "cpu" ? std::optional<std::int64_t>(0) : above(options.gpu_layers, 0);
  kept.auto_evict = options.auto_evict;
  kept.downsize_idle_timeout = options.downsize_idle_timeout;
  kept.evict_idle_timeout = options.evict_idle_timeout;
  kept.evict_weight_factor = options.evict_weight_factor;
  return kept;
}

std::string shown_model(const models::ModelInfo& model) {
  if (!model.paths.empty()) return model.paths.front().native();
  return model.checkpoint.empty() ? model.name.value() : model.checkpoint;
}

}  // namespace

Millis usual_load_deadline(Bytes size) {
  return kLoadDeadlineBase + Millis(static_cast<std::int64_t>(size.value() / kSlowDiskBytesPerMilli));
}

ExternalBackend::ExternalBackend(async::Executor home, async::Timers& timers, proc::Spawner& spawner,
                                 DescriptorPtr descriptor, std::vector<ModelEntry> entries,
                                 ExternalBackendOptions options)
    : home_(home),
      timers_(timers),
      spawner_(spawner),
      recipe_(descriptor->recipe),
      descriptor_(std::move(descriptor)),
      entries_(std::move(entries)),
      options_(std::move(options)),
      files_(home, timers, options_.files) {}

ExternalBackend::~ExternalBackend() = default;

DescriptorPtr ExternalBackend::descriptor_of(const models::ModelInfo& model) const {
  const auto entry = std::ranges::find(entries_, model.name.value(), &ModelEntry::name);
  return entry == entries_.end() || !entry->descriptor ? descriptor_ : entry->descriptor;
}

void ExternalBackend::change(DescriptorPtr descriptor, std::vector<ModelEntry> entries) {
  descriptor_ = std::move(descriptor);
  entries_ = std::move(entries);
}

Result<std::filesystem::path> ExternalBackend::program_of(const Descriptor& descriptor) const {
  if (!descriptor.program.empty() || descriptor.command.empty()) return find(descriptor.program, descriptor);
  PlaceholderValues values;
  values.environment = options_.environment;
  const auto& first = descriptor.command.front().words.front();
  return find(expand(first, values).value_or(with_own_words(first)), descriptor);
}

Result<std::filesystem::path> ExternalBackend::find(const std::string& name, const Descriptor& descriptor) const {
  const auto path = options_.environment ? options_.environment("PATH").value_or("") : std::string();
  if (auto found = find_program(name, options_.program_dirs, path)) return *found;
  const auto how = descriptor.install.empty() ? std::string() : fmt::format("; install it: {}", descriptor.install);
  return fail(errc::backend_not_installed,
              fmt::format("the backend '{}' needs the program '{}', which is not installed{}", descriptor.recipe,
                          name == "{program}" ? "" : name, how));
}

Result<LoadOptions> ExternalBackend::resolve(const models::ModelInfo&, const LoadOptions& options) const {
  if (const auto fine = config::check(options); !fine)
    return fail(errc::invalid_option, fine.error().message, fine.error().param);
  return for_external_programs(options);
}

namespace {

std::vector<std::filesystem::path> files_of(const models::ModelInfo& model) {
  auto paths = model.paths;
  if (!model.mmproj.empty()) paths.push_back(model.mmproj);
  return paths;
}

}  // namespace

std::uint64_t ExternalBackend::files_state(const models::ModelInfo& model, const LoadOptions&) const {
  return model.paths.empty() ? 0 : files_.state_of(files_of(model));
}

async::Task<Result<>> ExternalBackend::check_files(ModelPtr model, LoadOptions) {
  if (model->paths.empty()) co_return Result<>();
  auto paths = files_of(*model);
  const auto looked = co_await files_.look(std::move(paths));
  if (!looked) co_return std::unexpected(looked.error());
  for (const auto& path : model->paths) {
    if (files_.seen(path)) continue;
    co_return fail(errc::model_file_not_found,
                   fmt::format("a file of model '{}' is missing: {}", model->name.value(), path.native()), "model");
  }
  co_return Result<>();
}

Device ExternalBackend::device(const models::ModelInfo& model, const LoadOptions& options, Device machine) const {
  const auto descriptor = descriptor_of(model);
  if (descriptor->kind == ServerKind::attach) return Device::none;
  const bool only_cpu = options.gpu_layers == 0;
  const bool has_gpu = has(machine, Device::gpu) && !only_cpu;
  // An NPU isn't visible to corral, so the descriptor decides.
  if (has(descriptor->device, Device::npu)) return descriptor->device;
  if (has(descriptor->device, Device::gpu) && !has_gpu && has(descriptor->possible, Device::cpu)) return Device::cpu;
  return descriptor->device;
}

std::string ExternalBackend::memory_key(const models::ModelInfo& model, const LoadOptions& options) const {
  std::uint64_t changed = 0;
  for (const auto& stamp : model.stamps)
    changed = changed * 31 + stamp.size + static_cast<std::uint64_t>(stamp.modified);
  return fmt::format("{}|{}|{}|{:x}|{:x}", recipe(), model.name.value(), model.checkpoint, fingerprint(options),
                     changed);
}

std::uint64_t ExternalBackend::ruled_bytes(const models::ModelInfo& model) const {
  const auto& rule = descriptor_of(model)->memory;
  return static_cast<std::uint64_t>(rule.per_file_byte * static_cast<double>(model.size.value())) + rule.fixed;
}

std::optional<MemoryEstimate> ExternalBackend::known_estimate(const models::ModelInfo& model,
                                                              const LoadOptions& options) const {
  if (attached(model)) return MemoryEstimate{.devices = {{.device = "cpu"}}};
  const auto seen = options_.measured ? options_.measured->of(memory_key(model, options)) : std::nullopt;
  MemoryEstimate estimate;
  estimate.devices = {{.device = "cpu", .weights = seen ? seen->host : ruled_bytes(model)}};
  return estimate;
}

async::Task<Result<MemoryEstimate>> ExternalBackend::estimate(ModelPtr model, LoadOptions options) {
  co_return *known_estimate(*model, options);
}

std::optional<GivenMemory> ExternalBackend::given_memory(const models::ModelInfo& model, const LoadOptions& options,
                                                         Device device) const {
  if (attached(model)) return GivenMemory{};
  const auto seen = options_.measured ? options_.measured->of(memory_key(model, options)) : std::nullopt;
  if (!seen) return GivenMemory{ruled_bytes(model), 0};
  return GivenMemory{has(device, Device::gpu) && seen->gpu > 0 ? seen->gpu : seen->host, 0};
}

std::optional<LoadOptions> ExternalBackend::configured(const ModelName& model) const {
  const auto entry = std::ranges::find(entries_, model.value(), &ModelEntry::name);
  if (entry == entries_.end() || !entry->ttl) return std::nullopt;
  LoadOptions options;
  options.auto_evict = *entry->ttl > Millis(0);
  if (*options.auto_evict) options.evict_idle_timeout = *entry->ttl;
  return options;
}

std::uint64_t ExternalBackend::context(const models::ModelInfo& model, const LoadOptions& options,
                                       std::uint64_t) const {
  return options.ctx_size.value_or(0) > 0 ? static_cast<std::uint64_t>(*options.ctx_size) : model.traits.context_length;
}

std::uint64_t ExternalBackend::rough_bound(const models::ModelInfo& model, const LoadOptions&) const {
  return ruled_bytes(model);
}

std::optional<Millis> ExternalBackend::load_deadline(const models::ModelInfo& model) const {
  const auto descriptor = descriptor_of(model);
  // The backend's own deadline ends first, because its error names what it waited for.
  constexpr Millis kWords{5'000};
  return kWords +
         (descriptor->ready.deadline > Millis(0) ? descriptor->ready.deadline : usual_load_deadline(model.size));
}

bool ExternalBackend::attached(const models::ModelInfo& model) const {
  return descriptor_of(model)->kind == ServerKind::attach;
}

async::Task<Result<>> ExternalBackend::preflight(ModelPtr model, LoadOptions options) {
  const auto descriptor = descriptor_of(*model);
  if (!serves(*descriptor, model->type)) {
    co_return fail(errc::invalid_option,
                   fmt::format("'{}' is of type {}, which the backend '{}' does not serve", model->name.value(),
                               name_of(model->type), descriptor->recipe),
                   "model");
  }
  if (descriptor->kind == ServerKind::attach) co_return Result<>();
  const auto program = program_of(*descriptor);
  if (!program) {
    Error error = program.error();
    error.message = fmt::format("model '{}' cannot be loaded: {}", model->name.value(), error.message);
    co_return std::unexpected(std::move(error));
  }
  auto values = values_for(*model, *descriptor, options);
  values.texts["port"] = values.texts["other_port"] = "1";
  values.texts["socket"] = "socket";
  const auto argv = expand(descriptor->command, values);
  if (!argv) {
    co_return fail(errc::invalid_option,
                   fmt::format("model '{}' cannot be loaded: {}", model->name.value(), argv.error().message), "model");
  }
  co_return Result<>();
}

PlaceholderValues ExternalBackend::values_for(const models::ModelInfo& model, const Descriptor& descriptor,
                                              const LoadOptions& options) const {
  PlaceholderValues values;
  values.environment = options_.environment;
  if (const auto program = program_of(descriptor)) {
    values.texts["program"] = program->native();
    std::error_code ignored;
    const auto real = std::filesystem::canonical(*program, ignored);
    values.texts["program_dir"] = (ignored ? *program : real).parent_path().native();
  }
  values.texts["model"] = shown_model(model);
  values.texts["id"] = model.name.value();
  values.texts["checkpoint"] = model.checkpoint.empty() ? shown_model(model) : model.checkpoint;
  if (!model.paths.empty() || !model.checkpoint.empty()) values.texts["checkpoints.main"] = shown_model(model);
  values.texts["host"] = "127.0.0.1";
  if (!model.mmproj.empty()) values.texts["mmproj"] = model.mmproj.native();
  const auto entry = std::ranges::find(entries_, model.name.value(), &ModelEntry::name);
  if (entry != entries_.end())
    for (const auto& [name, checkpoint] : entry->parts) values.texts["checkpoints." + name] = checkpoint;
  const std::pair<const char*, std::optional<std::int64_t>> numbers[] = {{"ctx_size", options.ctx_size},
                                                                         {"parallel", options.parallel},
                                                                         {"threads", options.threads},
                                                                         {"gpu_layers", options.gpu_layers}};
  for (const auto& [name, number] : numbers)
    if (number) values.texts[name] = std::to_string(*number);
  values.lists["args"] = descriptor.args;
  const auto of_type = descriptor.type_args.find(model.type);
  values.lists["type_args"] = of_type == descriptor.type_args.end() ? std::vector<std::string>() : of_type->second;
  return values;
}

proc::ChildSpec ExternalBackend::spec_of(const Descriptor& descriptor, std::vector<std::string> argv,
                                         const PlaceholderValues& values) {
  proc::ChildSpec spec;
  spec.name = fmt::format("{}-{}", descriptor.recipe, ++last_number_);
  // Uses the path of the check, whatever PATH the process has.
  if (!argv.empty() && !argv.front().contains('/')) {
    if (const auto program = find(argv.front(), descriptor)) argv.front() = program->native();
  }
  spec.argv = std::move(argv);
  for (const auto& [name, value] : descriptor.env) {
    if (auto text = expand(value, values)) spec.environment[name] = std::move(*text);
  }
  spec.log.bytes_per_second = kExternalLogPace;
  if (const auto cwd = expand(descriptor.cwd, values); cwd && !cwd->empty()) {
    spec.working_directory = *cwd;
  } else if (!options_.work_dir.empty()) {
    spec.working_directory = options_.work_dir;
    std::error_code ignored;
    std::filesystem::create_directories(spec.working_directory, ignored);
  }
  return spec;
}

std::shared_ptr<ExternalFormat> ExternalBackend::words_for(const models::ModelInfo& model,
                                                           const DescriptorPtr& descriptor,
                                                           const PlaceholderValues& values,
                                                           std::shared_ptr<RequestReports> reports) const {
  auto words = std::make_shared<ExternalFormat>();
  words->descriptor = descriptor;
  words->model = model.name.value();
  words->name = expand(descriptor->model_name, values).value_or("");
  for (const auto& [name, value] : descriptor->headers) {
    if (auto text = expand(value, values)) words->headers.emplace_back(name, std::move(*text));
  }
  words->requests = std::make_shared<ExternalRequests>(timers_, *descriptor, model.name.value(), std::move(reports));
  words->threads = options_.threads;
  return words;
}

std::unique_ptr<WrappedServer> ExternalBackend::create(ModelPtr model, const LoadOptions& options) {
  auto descriptor = descriptor_of(*model);
  switch (descriptor->kind) {
    case ServerKind::attach:
      return std::make_unique<AttachedServer>(*this, std::move(model), std::move(descriptor), options);
    case ServerKind::exec:
      return std::make_unique<ExecServer>(*this, std::move(model), std::move(descriptor), options);
    case ServerKind::server:
      break;
  }
  return std::make_unique<ExternalProcess>(*this, std::move(model), std::move(descriptor), options);
}

}  // namespace corral::backends
