#include "mesh/copy/copy_source.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "async/spawned_task.h"
#include "base/log.h"
#include "base/unique_fd.h"
#include "mesh/copy/copy_wire.h"
#include "mesh/identity/errors.h"
#include "models/hash/content_hash.h"

namespace corral::mesh {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kPiece = 1 << 20;

std::unexpected<Error> unreadable(const fs::path& path) {
  return std::unexpected(Error({errno, std::system_category()},
                               fmt::format("'{}' can't be read: {}", path.native(), std::strerror(errno))));
}

using Bytes = std::shared_ptr<std::string>;

// For a thread for files.
Result<Bytes> read_range(const fs::path& path, std::uint64_t offset, std::size_t count) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return unreadable(path);
  auto bytes = std::make_shared<std::string>();
  bytes->resize_and_overwrite(count, [&](char* space, std::size_t size) {
    std::size_t done = 0;
    while (done < size) {
      const auto got = ::pread(file.get(), space + done, size - done, static_cast<off_t>(offset + done));
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) break;
      done += static_cast<std::size_t>(got);
    }
    return done;
  });
  if (bytes->size() != count) return fail(errc::damaged, fmt::format("'{}' is shorter than it was", path.native()));
  return bytes;
}

class Source {
 public:
  Source(std::unique_ptr<Stream> stream, CopyProvider& provider, async::ThreadPool& files, async::Timers& timers,
         CopySourceOptions options)
      : stream_(std::move(stream)),
        provider_(provider),
        files_(files),
        timers_(timers),
        options_(options),
        reader_(*stream_) {}

  // One deadline for everything, which moves with each step: a slow copy is allowed, a stalled one isn't.
  async::Task<Result<std::uint64_t>> serve() {
    give(options_.idle);
    auto talking = talk();
    auto done = co_await async::race(std::move(talking), until_overdue());
    if (!done) co_return fail(errc::timed_out, "the other end of a copy stalled");
    co_return std::move(*done);
  }

 private:
  void give(Millis time) { deadline_ = timers_.now() + time; }
  async::Task<void> until_overdue() {
    while (timers_.now() < deadline_) co_await timers_.sleep_until(deadline_);
  }

  async::Task<Result<std::uint64_t>> talk() {
    while (true) {
      give(options_.idle);
      const auto more = co_await reader_.more();
      if (!more) co_return std::unexpected(more.error());
      if (!*more) co_return sent_;
      give(options_.stall);
      const auto question = co_await reader_.question();
      if (!question) co_return std::unexpected(question.error());
      const auto done = co_await answer(*question);
      if (!done) co_return std::unexpected(done.error());
    }
  }

  async::Task<Result<>> answer(CopyQuestion question) {
    if (const auto* manifest = std::get_if<WantManifest>(&question)) {
      co_return co_await give_manifest(manifest->content);
    }
    co_return co_await give_range(std::get<RangeId>(question));
  }

  async::Task<Result<>> refuse(std::string why) {
    const auto words = encode(Refusal{std::move(why)});
    co_return co_await stream_->write(words);
  }

  async::Task<Result<>> give_manifest(Sha256 content) {
    if (model_) co_return fail(errc::malformed, "a second list was requested on the stream of a copy");
    give(options_.list);
    auto found = co_await provider_.find(content);
    give(options_.stall);
    if (!found) co_return co_await refuse(found.error().message);
    model_ = std::move(*found);
    const auto head = answer_head('m', static_cast<std::uint32_t>(model_->list.size()));
    if (auto sent = co_await stream_->write(head); !sent) co_return sent;
    co_return co_await stream_->write(model_->list);
  }

  async::Task<Result<>> give_range(RangeId range) {
    const auto count = model_ ? bytes_of(model_->manifest, range) : 0;
    if (count == 0) co_return co_await refuse("the requested range doesn't exist");
    const fs::path path = model_->paths[range.file];
    const auto begin = range.range * kRangeBytes;
    auto head = answer_head('r', static_cast<std::uint32_t>(count));
    // The disk is a piece ahead of the network.
    const auto executor = co_await async::asio::this_coro::executor;
    auto next = read_piece(executor, path, begin, count);
    for (std::uint64_t done = 0; done < count;) {
      const bool read = co_await next->wait(timers_, options_.stall);
      if (!read) co_return fail(errc::timed_out, "the disk does not respond");
      const auto piece = next->take();
      if (!piece) {
        // After the head only the end of the stream can report the error.
        if (head.empty()) co_return std::unexpected(piece.error());
        log::warning("mesh", "copy: {}", piece.error().message);
        co_return co_await refuse("the node can't read the file");
      }
      const auto size = (*piece)->size();
      if (done + size < count) next = read_piece(executor, path, begin + done + size, count - done - size);
      if (!head.empty()) {
        if (auto sent = co_await stream_->write(head); !sent) co_return sent;
        head.clear();
      }
      if (auto sent = co_await stream_->write(**piece); !sent) co_return sent;
      done += size;
      sent_ += size;
      give(options_.stall);
    }
    co_return Result<>();
  }

  std::unique_ptr<async::SpawnedTask<Result<Bytes>>> read_piece(async::Executor executor, const fs::path& path,
                                                                std::uint64_t offset, std::uint64_t left) {
    const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(left, kPiece));
    auto work = [path, offset, count] { return read_range(path, offset, count); };
    return std::make_unique<async::SpawnedTask<Result<Bytes>>>(executor, "read for a copy",
                                                               files_.run(std::move(work)));
  }

  const std::unique_ptr<Stream> stream_;
  CopyProvider& provider_;
  async::ThreadPool& files_;
  async::Timers& timers_;
  const CopySourceOptions options_;
  CopyReader reader_;
  OfferedModelPtr model_;
  MonoTime deadline_;  // moves with every step
  std::uint64_t sent_ = 0;
};

}  // namespace

async::Task<Result<std::uint64_t>> serve_copy(std::unique_ptr<Stream> stream, CopyProvider& provider,
                                              async::ThreadPool& files, async::Timers& timers,
                                              CopySourceOptions options) {
  Source source(std::move(stream), provider, files, timers, options);
  co_return co_await source.serve();
}

Result<Manifest> make_manifest(std::string model, std::string source, const std::vector<fs::path>& paths,
                               bool has_projector, std::vector<models::FileHash> hashes) {
  Manifest made{.content = {},
                .model = std::move(model),
                .source = std::move(source),
                .files = {},
                .has_projector = has_projector};
  std::vector<Sha256> parts;
  for (std::size_t i = 0; i < std::min(paths.size(), hashes.size()); ++i) {
    auto& of = hashes[i];
    parts.push_back(of.hash);
    made.files.push_back({paths[i].filename().native(), of.bytes, of.hash, std::move(of.steps)});
  }
  std::optional<Sha256> projector;
  if (has_projector && !parts.empty()) {
    projector = parts.back();
    parts.pop_back();
  }
  made.content = models::content_of(parts, projector);
  if (const auto sound = check(made); !sound) return std::unexpected(sound.error());
  return made;
}

Result<std::optional<std::vector<models::FileHash>>> read_hashes(const std::vector<fs::path>& paths,
                                                                 const std::function<bool()>& go_on) {
  std::vector<models::FileHash> hashes;
  for (const auto& path : paths) {
    models::FileDigest digest;
    const auto read = models::read_pieces(path, go_on, [&](std::string_view piece) { digest.add(piece); });
    if (!read) return std::unexpected(read.error());
    if (!*read) return std::nullopt;
    hashes.push_back(digest.finish());
  }
  return hashes;
}

}  // namespace corral::mesh
