#include "engine/llama/weight_speed.h"

#include <array>
#include <chrono>
#include <cstring>
#include <memory>
#include <optional>

#include <ggml.h>

#include "engine/values/errors.h"

namespace corral::engine {
namespace {

constexpr std::array kTypes = {GGML_TYPE_Q4_0, GGML_TYPE_Q4_K, GGML_TYPE_Q6_K, GGML_TYPE_Q8_0, GGML_TYPE_F16};
// Size of one matrix, as in a layer; blocks of all types divide it.
constexpr std::int64_t kColumns = 2048, kRows = 2048;
constexpr std::size_t kBytes = std::size_t{64} << 20;  // of all matrices of one type together
constexpr int kRounds = 5;                             // uses the fastest, after a first one that only touches the
                                                       // memory

struct FreeContext {
  void operator()(ggml_context* context) const { ggml_free(context); }
};
struct FreeBackend {
  void operator()(ggml_backend* backend) const { ggml_backend_free(backend); }
};
struct FreeBuffer {
  void operator()(ggml_backend_buffer* buffer) const { ggml_backend_buffer_free(buffer); }
};

void use_threads(ggml_backend_t backend, std::size_t threads) {
  ggml_backend_reg_t const library = ggml_backend_dev_backend_reg(ggml_backend_get_device(backend));
  auto* const set = reinterpret_cast<ggml_backend_set_n_threads_t>(
      ggml_backend_reg_get_proc_address(library, "ggml_backend_set_n_threads"));
  if (set != nullptr) set(backend, static_cast<int>(threads));
}

// None: the device does not support the type.
std::optional<std::uint64_t> speed_of(ggml_backend_t backend, ggml_type type) {
  const auto matrix_bytes = static_cast<std::size_t>(kRows) * ggml_row_size(type, kColumns);
  const auto matrices = kBytes / matrix_bytes;
  const ggml_init_params params{.mem_size = ggml_tensor_overhead() * (2 * matrices + 2) + ggml_graph_overhead(),
                                .mem_buffer = nullptr,
                                .no_alloc = true};
  const std::unique_ptr<ggml_context, FreeContext> context(ggml_init(params));
  if (!context) return std::nullopt;
  ggml_tensor* const row = ggml_new_tensor_2d(context.get(), GGML_TYPE_F32, kColumns, 1);
  ggml_cgraph* const graph = ggml_new_graph(context.get());
  for (std::size_t i = 0; i < matrices; ++i) {
    ggml_tensor* const matrix = ggml_new_tensor_2d(context.get(), type, kColumns, kRows);
    ggml_tensor* const product = ggml_mul_mat(context.get(), matrix, row);
    if (!ggml_backend_supports_op(backend, product)) return std::nullopt;
    ggml_build_forward_expand(graph, product);
  }
  const std::unique_ptr<ggml_backend_buffer, FreeBuffer> buffer(ggml_backend_alloc_ctx_tensors(context.get(), backend));
  if (!buffer) return std::nullopt;
  // Zeros take as long as other numbers, and avoid scales that are slow on some processors.
  ggml_backend_buffer_clear(buffer.get(), 0);
  using Clock = std::chrono::steady_clock;
  auto best = Clock::duration::max();
  for (int round = 0; round <= kRounds; ++round) {
    const auto begin = Clock::now();
    if (ggml_backend_graph_compute(backend, graph) != GGML_STATUS_SUCCESS) return std::nullopt;
    ggml_backend_synchronize(backend);
    if (round > 0) best = std::min(best, Clock::now() - begin);
  }
  const auto seconds = std::max(std::chrono::duration<double>(best).count(), 1e-9);
  return static_cast<std::uint64_t>(static_cast<double>(matrices * matrix_bytes) / seconds);
}

}  // namespace

Result<std::vector<WeightSpeed>> measure_weight_speeds(ggml_backend_dev_t device, std::size_t threads) {
  const std::unique_ptr<ggml_backend, FreeBackend> backend(ggml_backend_dev_init(device, nullptr));
  if (!backend) return fail(errc::load_failed, "the device doesn't start");
  use_threads(backend.get(), threads);
  std::vector<WeightSpeed> speeds;
  for (const auto type : kTypes) {
    if (const auto speed = speed_of(backend.get(), type)) speeds.push_back({ggml_type_name(type), *speed});
  }
  return speeds;
}

}  // namespace corral::engine
