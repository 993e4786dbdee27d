// One supervised backend process that serves one model, and the recipes that make them.
//
//   create ──> load() ──> ready: target() takes requests ──> stop(), or it dies: wait_for_exit()
//
// Everything here lives on the home loop of the router, but targets, which belong to the loop they are asked for.
#pragma once

#include <cstdint>
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

// What is known of a backend process, for people.
struct ServerFacts {
  pid_t pid = 0;
  std::vector<std::string> launch_command;
  std::string backend_url;                       // "unix:/run/.../engine-3.sock", "http://127.0.0.1:8123"
  std::uint64_t context_window = 0;              // tokens one request can use; 0: not known
  std::uint64_t memory_bytes = 0;                // resident, sampled when asked
  Device device = Device::none;                  // it computes on, by its own account; none: it didn't say
  std::optional<MemoryEstimate> predicted = {};  // if it was known when the load ended
};

// Counted by the backend for each inference request it has finished.
struct RequestStats {
  std::uint64_t input_tokens = 0;
  std::uint64_t output_tokens = 0;
  std::uint64_t cached_tokens = 0;  // of the input, not computed again
  double time_to_first_token = 0;   // seconds, from arrival in the backend
  double tokens_per_second = 0;     // of the output
};

// How far a process had got with a request when it ended.
enum class RequestPhase {
  read,      // and was preparing it: template, grammar, tokens
  prepared,  // the model computed, or it waited for its turn
};
// What a process worked on when it ended.
struct LastWork {
  bool by_signal = false;                             // how it ended: it crashed, or was killed
  std::map<std::string, RequestPhase> requests = {};  // by their ids: those that it had read and not finished
};

class WrappedServer {
 public:
  struct Hooks {
    std::function<void(double fraction)> progress;          // 0..1 while loading
    std::function<void(const RequestStats&)> request_done;  // any number of times once ready
  };

  // Kills the process if it still runs.
  virtual ~WrappedServer() = default;

  // Starts the process and returns when it can serve. On failure the process is gone and the error's code says why:
  // errc::load_failed, load_out_of_memory, load_never_fits, load_crashed, model_file_not_found, backend_not_installed.
  // Cancelling kills the process.
  virtual async::Task<Result<>> load(Hooks hooks) = 0;
  // Asks the process to end, forces it after `grace`. Returns when it is gone; a load under way fails (load_crashed).
  virtual async::Task<void> stop(Millis grace) = 0;
  // Frees what an idle process needs only to work: KV cells and compute buffers; they come back with the next request,
  // which may arrive meanwhile. One call at a time. False: it can't, or something runs on it.
  virtual async::Task<bool> downsize() = 0;
  // Returns when the process is gone, with what its end looked like ("killed by signal 9 (SIGKILL)").
  virtual async::Task<std::string> wait_for_exit() = 0;
  // Once it is gone. Nothing: such processes don't say what they work on.
  virtual std::optional<LastWork> last_work() const { return std::nullopt; }
  // False: it takes no requests, and target() answers none.
  virtual bool is_askable() const { return true; }
  // For use on `executor`'s loop only; valid as long as this object.
  virtual http::Target& target(async::Executor executor) = 0;
  virtual ServerFacts facts() const = 0;
  // A number without a unit that grows while the process does anything at all, even if it says nothing. 0: not known.
  virtual std::uint64_t work() const = 0;
};

// What a load takes, as somebody else has laid it out: of the memories of GPUs where it computes there, else of the
// host's. Bytes.
struct GivenMemory {
  std::uint64_t total = 0;
  std::uint64_t dynamic = 0;  // of it, what a downsize gives back
};

// The code of that error.
inline constexpr std::string_view kNothingWrong = "no_weights";

// Makes servers of one recipe.
class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string_view recipe() const = 0;
  // What `options` come to for this model once every default is filled in. Looks at no disk. Errors: invalid_option.
  virtual Result<LoadOptions> resolve(const models::ModelInfo& model, const LoadOptions& options) const = 0;
  // Whether the files of the model and of these resolved options are there. Blocks nobody, however slow their disk.
  // Errors: model_file_not_found, invalid_option, load_failed for a file that is no model any more, files_silent.
  virtual async::Task<Result<>> check_files(ModelPtr model, LoadOptions options) = 0;
  // A number that tells the state of the files of such a load, as check_files() saw them last, from any other; 0: not
  // known.
  virtual std::uint64_t files_state(const models::ModelInfo&, const LoadOptions&) const { return 0; }
  // What a load with these resolved options computes on, as far as that can be told before. `machine`: what the memory
  // of this machine shows it to have; a backend that knows better goes by that.
  virtual Device device(const models::ModelInfo& model, const LoadOptions& options, Device machine) const = 0;
  // The memory that a load with these resolved options will take; may start a process to find out. Errors: those of the
  // load that can be known before, and load_failed when it can't be told.
  virtual async::Task<Result<MemoryEstimate>> estimate(ModelPtr model, LoadOptions options) = 0;
  // The same as far as it is known without asking, of the files as check_files() saw them.
  virtual std::optional<MemoryEstimate> known_estimate(const models::ModelInfo& model,
                                                       const LoadOptions& options) const = 0;
  // Where this is known nobody asks for an estimate.
  virtual std::optional<GivenMemory> given_memory() const { return std::nullopt; }
  // Tokens that one conversation could have after a load with these resolved options, with so many bytes `free` on what
  // it computes on (0: not known). Quick: from what is known of its memory, or else from what its file says.
  virtual std::uint64_t context(const models::ModelInfo& model, const LoadOptions& options,
                                std::uint64_t free) const = 0;
  // Bytes on any one device that the load hardly exceeds, from the size of the files: where there is more than that,
  // nobody need ask.
  virtual std::uint64_t rough_bound(const models::ModelInfo& model, const LoadOptions& options) const = 0;
  // Refuses, before anybody is evicted for it, a load that can never succeed on this machine. Returns at once when that
  // is plain, else it takes as long as estimate(). Errors: load_never_fits, model_file_not_found, invalid_option,
  // backend_not_installed, file_unusable.
  virtual async::Task<Result<>> preflight(ModelPtr model, LoadOptions options) = 0;
  virtual std::unique_ptr<WrappedServer> create(ModelPtr model, const LoadOptions& options) = 0;
  // A process that answers requests to such a server with what is wrong with them, and what it finds nothing wrong
  // with by the error kNothingWrong. It takes little memory. nullptr: this recipe has none.
  virtual std::unique_ptr<WrappedServer> create_checker(ModelPtr, const LoadOptions&) { return nullptr; }
  // Ends what the backend keeps ready between loads.
  virtual async::Task<void> stop() = 0;
};

}  // namespace corral::backends
