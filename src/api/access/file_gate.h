// Decides which files of the machine a request may name.
#pragma once

#include <filesystem>
#include <functional>
#include <vector>

#include "async/timer.h"
#include "backends/files.h"
#include "http/handler.h"

namespace corral::api {

// On any loop; disk access happens elsewhere.
class FileGate {
 public:
  // `folders`: the current folders of models; called on the home loop. `timers` and the objects that `options` use must
  // outlive the gate's requests.
  FileGate(async::Executor home, async::Timers& timers, backends::FilesOptions options,
           std::function<std::vector<std::filesystem::path>()> folders)
      : home_(home), timers_(timers), options_(std::move(options)), folders_(std::move(folders)) {}

  // An owner may name any file, other callers only those of Files::check_places(), also in llamacpp_args. Errors: those
  // of check_places().
  async::Task<Result<>> check(const http::Caller& caller, const config::LoadOptions& requested);

  // The same for one file in the field `option`.
  async::Task<Result<>> check_file(const http::Caller& caller, std::string_view option, std::string path);

 private:
  async::Task<Result<>> check_here(std::vector<backends::NamedFile> named);

  const async::Executor home_;
  async::Timers& timers_;
  const backends::FilesOptions options_;
  const std::function<std::vector<std::filesystem::path>()> folders_;
};

}  // namespace corral::api
