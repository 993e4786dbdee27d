#include "models/import_file.h"

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/unique_fd.h"
#include "models/errors.h"
#include "models/gguf/gguf_facts.h"
#include "models/names/given_model.h"
#include "models/names/model_names.h"
#include "models/text.h"

namespace corral::models {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kStep = 16 << 20;

std::unexpected<Error> failed(int cause, std::string_view doing, const fs::path& file) {
  const std::error_code code(cause, std::generic_category());
  return std::unexpected(Error(code, fmt::format("{} '{}' failed: {}", doing, file.native(), code.message())));
}

struct Size {
  std::uint64_t bytes = 0;
  std::uint64_t device = 0, inode = 0;
};
Result<Size> size_of(const fs::path& file) {
  struct stat status{};
  if (::stat(file.c_str(), &status) != 0) {
    if (errno == ENOENT)
      return fail(errc::file_not_found, fmt::format("there is no file '{}'", printable_path(file)), "file");
    return failed(errno, "reading", file);
  }
  return Size{static_cast<std::uint64_t>(status.st_size), status.st_dev, status.st_ino};
}

bool is_same(const fs::path& there, const Size& size) {
  const auto other = size_of(there);
  return other && other->device == size.device && other->inode == size.inode;
}

// Of bytes over all files.
struct Copying {
  const ImportProgress& progress;
  std::uint64_t done = 0, total = 0;

  bool went_on(std::uint64_t bytes) {
    done += bytes;
    return !progress || progress(done, total);
  }
};

Result<> copy_bytes(const fs::path& from, const fs::path& to, Copying& copying) {
  const UniqueFd in(::open(from.c_str(), O_RDONLY | O_CLOEXEC));
  if (!in) return failed(errno, "reading", from);
  const UniqueFd out(::open(to.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!out) return failed(errno, "writing", to);
  std::vector<char> buffer;
  bool by_kernel = true;  // which shares the bytes, where the disk can
  while (true) {
    ssize_t got = by_kernel ? ::copy_file_range(in.get(), nullptr, out.get(), nullptr, kStep, 0) : -1;
    if (got < 0 && by_kernel) {
      if (errno != EXDEV && errno != EINVAL && errno != ENOSYS && errno != EOPNOTSUPP)
        return failed(errno, "copying", from);
      by_kernel = false;
      buffer.resize(1 << 20);
    }
    if (!by_kernel) {
      got = ::read(in.get(), buffer.data(), buffer.size());
      if (got < 0) return failed(errno, "reading", from);
      for (ssize_t written = 0; written < got;) {
        const ssize_t some = ::write(out.get(), buffer.data() + written, static_cast<std::size_t>(got - written));
        if (some < 0) return failed(errno, "writing", to);
        written += some;
      }
    }
    if (got == 0) break;
    if (!copying.went_on(static_cast<std::uint64_t>(got)))
      return std::unexpected(Error(std::make_error_code(std::errc::operation_canceled), "the copy was aborted"));
  }
  if (::fsync(out.get()) != 0) return failed(errno, "writing", to);
  return {};
}

Result<> bring(const fs::path& from, const fs::path& to, bool link, Copying& copying) {
  const fs::path fresh = to.parent_path() / fmt::format(".{}.corral-import-{}", to.filename().native(), ::getpid());
  ::unlink(fresh.c_str());
  auto made = Result<>();
  if (link) {
    // What a link of the hub's cache leads to, not the link.
    if (::linkat(AT_FDCWD, from.c_str(), AT_FDCWD, fresh.c_str(), AT_SYMLINK_FOLLOW) != 0)
      made = failed(errno, "linking", from);
  } else {
    made = copy_bytes(from, fresh, copying);
  }
  if (made && ::rename(fresh.c_str(), to.c_str()) != 0) made = failed(errno, "writing", to);
  if (!made) ::unlink(fresh.c_str());
  return made;
}

// Both on one disk, and the system allows it.
bool may_link(const fs::path& from, const fs::path& folder) {
  const fs::path trial = folder / fmt::format(".corral-link-{}", ::getpid());
  ::unlink(trial.c_str());
  const bool may = ::linkat(AT_FDCWD, from.c_str(), AT_FDCWD, trial.c_str(), AT_SYMLINK_FOLLOW) == 0;
  ::unlink(trial.c_str());
  return may;
}

Result<std::string> stem_for(const ImportRequest& request) {
  std::string stem = request.file.stem();
  if (const auto shard = parse_shard(stem)) stem = std::string(shard->set);
  std::string name = request.name.empty() ? stem : request.name;
  if (name.ends_with(".gguf")) name.resize(name.size() - 5);
  const bool sound = !name.empty() && name.size() <= 200 && name.find('/') == std::string::npos && name[0] != '.' &&
                     printable(name, 256) == name && !parse_shard(name);
  if (sound) return name;
  return fail(errc::malformed,
              fmt::format("invalid model name '{}': use letters without '/', and no leading '.'", printable(name, 256)),
              "name");
}

}  // namespace

Result<ImportedModel> import_file(const ImportRequest& request, const ImportProgress& progress) {
  const auto stem = stem_for(request);
  if (!stem) return std::unexpected(stem.error());
  if (auto there = size_of(request.file); !there) return std::unexpected(std::move(there.error()));
  const auto parts = files_of_set(request.file);
  std::vector<Size> sizes;
  Copying copying{progress};
  for (const auto& part : parts) {
    auto size = size_of(part);
    if (!size && size.error().code == errc::file_not_found)
      return fail(errc::missing_shard,
                  fmt::format("'{}' lacks '{}' of its {} files", *stem, part.native(), parts.size()), "file");
    if (!size) return std::unexpected(std::move(size.error()));
    if (const auto facts = read_facts(part); !facts) return std::unexpected(facts.error());
    copying.total += size->bytes;
    sizes.push_back(*size);
  }
  std::error_code failure;
  fs::create_directories(request.folder, failure);
  if (failure) return failed(failure.value(), "making", request.folder);
  ImportedModel model{.name = *stem, .files = {}};
  model.linked = !request.copy && may_link(parts.front(), request.folder);
  model.bytes = copying.total;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto name = parts.size() == 1 ? *stem : shard_stem(*stem, i + 1, parts.size());
    model.files.push_back(request.folder / (name + ".gguf"));
    std::error_code ignored;
    if (fs::exists(model.files.back(), ignored) && !is_same(model.files.back(), sizes[i]))
      return fail(errc::name_in_use,
                  fmt::format("another file '{}' already exists: choose another name", model.files.back().native()),
                  "name");
  }
  // The first part last: if it exists, the set is complete.
  for (std::size_t i = parts.size(); i-- > 0;) {
    if (is_same(model.files[i], sizes[i])) continue;
    if (auto brought = bring(parts[i], model.files[i], model.linked, copying); !brought)
      return std::unexpected(std::move(brought.error()));
  }
  return model;
}

}  // namespace corral::models
