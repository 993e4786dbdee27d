// corral: one endpoint, many models. A table has the program's modes: the server, its child processes, the command
// line.
#include "app/devices_process.h"
#include "app/engine_process.h"
#include "app/inspect_process.h"
#include "app/machine_facts.h"
#include "app/measure_process.h"
#include "app/rpc_worker_process.h"
#include "app/serve.h"
#include "app/version.h"
#include "cli/cli.h"
#include "proc/exec_mode.h"

// Read by jemalloc at its start: freed memory returns to the system within a second, also in an idle process.
extern "C" {
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): the name and the type are jemalloc's.
const char* malloc_conf =
    "background_thread:true,max_background_threads:1,dirty_decay_ms:1000,muzzy_decay_ms:0,narenas:4";
}

int main(int argc, char** argv) {
  using namespace corral;
  if (proc::is_exec_mode(argc, argv)) return proc::run_exec_mode(argc, argv);
  cli::Hooks hooks;
  hooks.version = app::kVersion;
  hooks.components = {{"llama.cpp", CORRAL_LLAMA_VERSION}};
  hooks.serve = app::serve;
  hooks.examine = app::examine_machine;
  hooks.hidden = {{"engine", app::engine_process},
                  {"inspect-model", app::inspect_process},
                  {"list-devices", app::devices_process},
                  {"measure-speed", app::measure_process},
                  {"rpc-worker", app::rpc_worker_process}};
  return cli::main_entry(argc, argv, hooks);
}
