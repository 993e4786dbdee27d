// One supervised process that serves one model, and the backends of recipes that create such processes.
//
//   create ──> load() ──> ready: target() takes requests ──> stop(), or it dies: wait_for_exit()
//
// Everything here lives on the home loop of the router, except targets, which belong to the loop of their request.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "async/task.h"
#include "backends/errors.h"
#include "backends/load_options.h"
#include "base/clock.h"
#include "base/memory_estimate.h"
#include "http/target.h"
#include "models/model_info.h"

namespace corral::backends {

using ModelPtr = std::shared_ptr<const models::ModelInfo>;

// Facts about a backend process, for display.
struct ServerFacts {
  pid_t pid = 0;
  std::vector<std::string> launch_command;
  std::string backend_url;                       // "unix:/run/.../engine-3.sock", "http://127.0.0.1:8123"
  std::uint64_t context_window = 0;              // tokens of one request; 0: unknown
  std::uint64_t memory_bytes = 0;                // resident, sampled by this call
  Device device = Device::none;                  // device that it reports; none: unknown
  std::optional<MemoryEstimate> predicted = {};  // if the prediction was known when the load ended
};

// Counted by the backend for each inference request that ended, also with its client or its connection.
struct RequestStats {
  std::uint64_t input_tokens = 0;
  std::uint64_t output_tokens = 0;
  std::uint64_t cached_tokens = 0;  // of the input, not computed again
  double time_to_first_token = 0;   // seconds, from arrival in the backend; 0: unknown
  double tokens_per_second = 0;     // of the output; 0: unknown
};

// The phase of a request when its process ended.
enum class RequestPhase {
  read,      // and was preparing it: template, grammar, tokens
  prepared,  // the model computed it, or it was waiting to be computed
};
// Unfinished requests of a process when it ended.
struct LastWork {
  bool by_signal = false;                             // it crashed, or was killed
  std::map<std::string, RequestPhase> requests = {};  // by id: those that it had read
};

class WrappedServer {
 public:
  struct Hooks {
    std::function<void(double fraction)> progress;          // 0..1 while loading
    std::function<void(const RequestStats&)> request_done;  // any number of times once ready
  };

  // Kills the process if it still runs.
  virtual ~WrappedServer() = default;

  // Starts the process and returns when it can serve. After a failure the process is gone, and the error has the cause:
  // errc::load_failed, load_out_of_memory, load_never_fits, load_crashed, model_file_not_found, backend_not_installed.
  // Cancellation kills the process.
  virtual async::Task<Result<>> load(Hooks hooks) = 0;
  // Asks the process to end, kills it after `grace`. Returns when it is gone; a running load fails (load_crashed).
  virtual async::Task<void> stop(Millis grace) = 0;
  // Frees the memory that an idle process needs only for requests: KV cells and compute buffers. The next request
  // restores it and may arrive during this call. One call at a time. False: impossible, or a request runs.
  virtual async::Task<bool> downsize() = 0;
  // Returns when the process is gone, with a description of its end ("killed by signal 9 (SIGKILL)").
  virtual async::Task<std::string> wait_for_exit() = 0;
  // After its end. Empty: such processes do not report their requests.
  virtual std::optional<LastWork> last_work() const { return std::nullopt; }
  // False: it takes no requests, and target() answers none.
  virtual bool is_askable() const { return true; }
  // For use on `executor`'s loop only; valid as long as this object.
  virtual http::Target& target(async::Executor executor) = 0;
  virtual ServerFacts facts() const = 0;
  // The file with the output of its process, also after the end; empty: there is none (yet).
  virtual std::filesystem::path log_file() const { return {}; }
  // A number without unit that grows while the process does any work, even without output. 0: unknown.
  virtual std::uint64_t work() const = 0;
};

// Memory of a load that needs no estimate (from the plan of a split, or from earlier measurements), in bytes: GPU
// memory if the load computes there, else host memory.
struct GivenMemory {
  std::uint64_t total = 0;
  std::uint64_t dynamic = 0;  // the part of it that a downsize frees
};

// Error code of a checker for a request without faults.
inline constexpr std::string_view kNothingWrong = "no_weights";

// Creates servers of one recipe.
class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string_view recipe() const = 0;
  // The options with all defaults for this model. Reads no disk. Errors: invalid_option.
  virtual Result<LoadOptions> resolve(const models::ModelInfo& model, const LoadOptions& options) const = 0;
  // Checks that the files of the model and of these resolved options exist. Never blocks the loop, even on a slow disk.
  // Errors: model_file_not_found, invalid_option, load_failed for a file that is no longer a model, files_silent.
  virtual async::Task<Result<>> check_files(ModelPtr model, LoadOptions options) = 0;
  // Fingerprint of the files of such a load, as check_files() last saw them; 0: unknown.
  virtual std::uint64_t files_state(const models::ModelInfo&, const LoadOptions&) const { return 0; }
  // Predicted device of a load with these resolved options. `machine`: the devices that the machine's memory shows; a
  // backend that knows better ignores it.
  virtual Device device(const models::ModelInfo& model, const LoadOptions& options, Device machine) const = 0;
  // Predicted memory need of a load with these resolved options; may start a process. Errors: those of the load that
  // can be found before, and load_failed if there is no prediction.
  virtual async::Task<Result<MemoryEstimate>> estimate(ModelPtr model, LoadOptions options) = 0;
  // The same if it is known without a process, for the files as check_files() saw them.
  virtual std::optional<MemoryEstimate> known_estimate(const models::ModelInfo& model,
                                                       const LoadOptions& options) const = 0;
  // If set, no estimate is needed for a load with these resolved options on this device; total 0: it needs no memory
  // here.
  virtual std::optional<GivenMemory> given_memory(const models::ModelInfo&, const LoadOptions&, Device) const {
    return std::nullopt;
  }
  // Predicted context of one conversation, in tokens, after a load with these resolved options and with `free` bytes on
  // its device (0: unknown). Fast: uses known estimates, or else the data of the file.
  virtual std::uint64_t context(const models::ModelInfo& model, const LoadOptions& options,
                                std::uint64_t free) const = 0;
  // Approximate upper bound of the bytes on any one device, by the size of the files; rarely exceeded. With more free
  // memory than this, no estimate is needed.
  virtual std::uint64_t rough_bound(const models::ModelInfo& model, const LoadOptions& options) const = 0;
  // Refuses a load that can never succeed on this machine, before it evicts a model. Returns at once in clear cases,
  // else takes as long as estimate(). Errors: load_never_fits, model_file_not_found, invalid_option,
  // backend_not_installed, file_unusable.
  virtual async::Task<Result<>> preflight(ModelPtr model, LoadOptions options) = 0;
  // Time limit of a load of this model; unset: the router's.
  virtual std::optional<Millis> load_deadline(const models::ModelInfo&) const { return std::nullopt; }
  // An attached server: nothing is started for it (residency/elsewhere.h).
  virtual bool attached(const models::ModelInfo&) const { return false; }
  // Configured options of this model alone; unset: none.
  virtual std::optional<LoadOptions> configured(const ModelName&) const { return std::nullopt; }
  // False: context() may not know the context of a server, which then rejects too large requests itself.
  virtual bool knows_contexts() const { return true; }
  virtual std::unique_ptr<WrappedServer> create(ModelPtr model, const LoadOptions& options) = 0;
  // A process that answers requests with the error that such a server would return, or with kNothingWrong. It needs
  // little memory. nullptr: this recipe has none.
  virtual std::unique_ptr<WrappedServer> create_checker(ModelPtr, const LoadOptions&) { return nullptr; }
  // Ends what the backend keeps ready between loads.
  virtual async::Task<void> stop() = 0;
};

}  // namespace corral::backends
