#include "api/access/file_gate.h"

#include "api/access/rights.h"
#include "config/load/llama_args.h"

namespace corral::api {

async::Task<Result<>> FileGate::check(const http::Caller& caller, const config::LoadOptions& requested) {
  auto named = backends::named_files(requested);
  // Flags that an option overrides now may take effect when that option is unset.
  if (requested.llamacpp_args) {
    const auto flags = config::parse_llama_args(*requested.llamacpp_args).value_or(config::LoadOptions());
    for (auto& file : backends::named_files(flags)) named.push_back(std::move(file));
  }
  if (named.empty() || has(caller, kOwner)) co_return Result<>();
  auto task = check_here(std::move(named));
  co_return co_await async::run_on(home_, std::move(task));
}

async::Task<Result<>> FileGate::check_file(const http::Caller& caller, std::string_view option, std::string path) {
  if (has(caller, kOwner)) co_return Result<>();
  std::vector<backends::NamedFile> named{{option, path, path}};
  auto task = check_here(std::move(named));
  co_return co_await async::run_on(home_, std::move(task));
}

async::Task<Result<>> FileGate::check_here(std::vector<backends::NamedFile> named) {
  backends::Files files(home_, timers_, options_);  // results for requested files aren't cached
  auto folders = folders_();
  co_return co_await files.check_places(std::move(named), std::move(folders));
}

}  // namespace corral::api
