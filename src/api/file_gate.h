// Which files of the machine a request may name.
#pragma once

#include <filesystem>
#include <functional>
#include <vector>

#include "async/timer.h"
#include "backends/files.h"
#include "http/handler.h"

namespace corral::api {

// On any loop; no disk is asked on it.
class FileGate {
 public:
  // `folders`: of models, as they are at that moment; called on the home loop. `timers` and what `options` use must
  // outlive the gate's requests.
  FileGate(async::Executor home, async::Timers& timers, backends::FilesOptions options,
           std::function<std::vector<std::filesystem::path>()> folders)
      : home_(home), timers_(timers), options_(std::move(options)), folders_(std::move(folders)) {}

  // An owner may name any file, everybody else those of Files::check_places(), also in llamacpp_args. Errors: of that.
  async::Task<Result<>> check(const http::Caller& caller, const config::LoadOptions& requested);

  // The same of one file that the field `option` names.
  async::Task<Result<>> check_file(const http::Caller& caller, std::string_view option, std::string path);

 private:
  async::Task<Result<>> check_here(std::vector<backends::NamedFile> named);

  const async::Executor home_;
  async::Timers& timers_;
  const backends::FilesOptions options_;
  const std::function<std::vector<std::filesystem::path>()> folders_;
};

}  // namespace corral::api
