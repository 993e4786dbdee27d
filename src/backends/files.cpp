#include "backends/files.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <functional>
#include <string_view>

#include <boost/asio/post.hpp>
#include <fmt/format.h>
#include <sys/stat.h>

#include "backends/errors.h"

namespace corral::backends {
namespace {

constexpr std::size_t kMaxSeen = 1000;
constexpr std::size_t kLongestPath = 4096;
constexpr std::size_t kMaxNamed = 64;

bool begins_as_gguf(const std::filesystem::path& path) {
  std::array<char, 4> magic{};
  std::ifstream file(path, std::ios::binary);
  return file.read(magic.data(), magic.size()) && std::string_view(magic.data(), magic.size()) == "GGUF";
}

std::optional<FileState> look_at(const std::filesystem::path& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (error || !std::filesystem::exists(status)) return std::nullopt;
  FileState state{.regular = std::filesystem::is_regular_file(status)};
  if (state.regular) {
    state.size = std::filesystem::file_size(path, error);
    state.gguf = begins_as_gguf(path);
  }
  struct stat seen{};
  if (::stat(path.c_str(), &seen) == 0) state.inode = seen.st_ino;
  state.changed = std::filesystem::last_write_time(path, error).time_since_epoch().count();
  state.real = std::filesystem::canonical(path, error);
  return state;
}

// For real paths: `path` is `folder`, or is below it.
bool is_within(const std::filesystem::path& path, const std::filesystem::path& folder) {
  return !folder.empty() && std::ranges::mismatch(folder, path).in1 == folder.end();
}

async::Task<bool> all_of(std::vector<std::shared_ptr<async::Event>> events) {
  for (const auto& event : events) co_await event->wait();
  co_return true;
}

}  // namespace

Files::Files(async::Executor home, async::Timers& timers, FilesOptions options)
    : home_(home), timers_(timers), options_(std::move(options)), state_(std::make_shared<State>()) {}

std::shared_ptr<async::Event> Files::start(const std::filesystem::path& path) {
  auto& looking = state_->looking[path];
  if (looking) return looking;
  const auto done = looking = std::make_shared<async::Event>(home_);
  options_.offload([home = home_, path, weak = std::weak_ptr(state_)] {
    const auto found = look_at(path);
    async::asio::post(home, [path, weak, found] {
      const auto state = weak.lock();
      if (!state) return;
      state->earlier.erase(path);
      if (found) {
        if (state->seen.size() >= kMaxSeen) state->earlier = std::exchange(state->seen, {});
        state->seen[path] = *found;
      } else {
        state->seen.erase(path);
      }
      if (const auto waiting = state->looking.extract(path)) waiting.mapped()->set();
    });
  });
  return done;
}

async::Task<Result<>> Files::look(std::vector<std::filesystem::path> paths) {
  std::vector<std::shared_ptr<async::Event>> events;
  events.reserve(paths.size());
  for (const auto& path : paths) events.push_back(start(path));
  auto answers = all_of(events);
  const auto answered = co_await async::with_timeout(timers_, options_.patience, std::move(answers));
  if (answered) co_return Result<>();
  const auto silent = std::ranges::find_if(events, [](const auto& event) { return !event->is_set(); });
  const auto& path = paths[static_cast<std::size_t>(silent - events.begin())];
  co_return fail(errc::files_silent, fmt::format("the disk of {} did not respond within {} s", path.native(),
                                                 options_.patience.count() / 1000));
}

std::optional<FileState> Files::seen(const std::filesystem::path& path) const {
  for (const auto* seen : {&state_->seen, &state_->earlier}) {
    if (const auto found = seen->find(path); found != seen->end()) return found->second;
  }
  return std::nullopt;
}

std::string Files::state_key(std::span<const std::filesystem::path> paths) const {
  std::string key;
  for (const auto& path : paths) {
    const auto state = seen(path).value_or(FileState());
    key += fmt::format("|{}#{}#{}#{}", path.native(), state.inode, state.size, state.changed);
  }
  return key;
}

std::uint64_t Files::state_of(std::span<const std::filesystem::path> paths) const {
  const auto is_there = [this](const auto& path) { return seen(path).has_value(); };
  return std::ranges::all_of(paths, is_there) ? std::hash<std::string>()(state_key(paths)) : 0;
}

async::Task<Result<>> Files::check_places(std::vector<NamedFile> named, std::vector<std::filesystem::path> folders) {
  if (named.size() > kMaxNamed)
    co_return fail(errc::invalid_option,
                   fmt::format("{} files are given; at most {} are allowed", named.size(), kMaxNamed),
                   std::string(named.front().option));
  const auto too_long = std::ranges::find_if(named, [](const auto& file) { return file.text.size() > kLongestPath; });
  if (too_long != named.end())
    co_return fail(errc::invalid_option,
                   fmt::format("'{}' is not a path: it has {} bytes, at most {} are allowed", too_long->option,
                               too_long->text.size(), kLongestPath),
                   std::string(too_long->option));
  std::vector<std::filesystem::path> paths = folders;
  for (const auto& file : named) paths.push_back(file.path);
  const auto looked = co_await look(std::move(paths));
  if (!looked) co_return std::unexpected(looked.error());
  for (const auto& file : named) {
    const auto state = seen(file.path);
    const auto holds = [&](const std::filesystem::path& folder) {
      const auto root = seen(folder);
      return root && is_within(state->real, root->real);
    };
    if (state && state->gguf && !state->real.empty() && std::ranges::any_of(folders, holds)) continue;
    co_return fail(errc::invalid_option,
                   fmt::format("'{}' must be a GGUF file in a models folder (models_dir), or the request needs a key "
                               "with the scope admin: '{}'",
                               file.option, file.text),
                   std::string(file.option));
  }
  co_return Result<>();
}

std::vector<NamedFile> named_files(const LoadOptions& options) {
  std::vector<NamedFile> named;
  for (const auto& adapter : options.lora.value_or(std::vector<std::string>()))
    named.push_back({"lora", parse_lora(adapter).path, adapter});
  if (options.draft_model && !options.draft_model->empty())
    named.push_back({"draft_model", *options.draft_model, *options.draft_model});
  if (const std::string projector(config::named_projector(options)); !projector.empty())
    named.push_back({"mmproj", projector, projector});
  return named;
}

}  // namespace corral::backends
