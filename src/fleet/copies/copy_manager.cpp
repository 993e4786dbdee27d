#include "fleet/copies/copy_manager.h"

#include <algorithm>

#include <fmt/format.h>

#include "async/event.h"
#include "async/run_or_leave.h"
#include "base/log.h"
#include "base/secret.h"
#include "fleet/base/errors.h"
#include "fleet/copies/copy_list.h"
#include "fleet/copies/copy_marks.h"
#include "fleet/copies/copy_rules.h"
#include "mesh/copy/partial_model.h"
#include "mesh/identity/errors.h"

namespace corral::fleet {

using async::Task;

namespace {

constexpr std::size_t kMaxLists = 16;

bool ended(CopyState state) { return state == CopyState::done || state == CopyState::failed; }

struct LeftOver {
  std::vector<mesh::SignedManifest> lists;
  std::set<Sha256> by_allocation;
};

}  // namespace

std::string_view name_of(CopyState state) {
  switch (state) {
    case CopyState::waiting:
      return "waiting";
    case CopyState::copying:
      return "copying";
    case CopyState::done:
      return "done";
    case CopyState::failed:
      return "failed";
  }
  return "";
}

struct CopyManager::Making {
  explicit Making(async::Executor executor) : done(executor) {}
  async::Event done;
  std::optional<Result<mesh::OfferedModelPtr>> result;
  std::size_t waiting = 0;
  std::atomic<bool> unwanted = false;  // read on the thread
};

CopyManager::CopyManager(async::Executor executor, CopyManagerParts parts)
    : executor_(executor), parts_(std::move(parts)), tasks_(executor) {
  parts_.peers.on_stream(mesh::Purpose::copy, [this](std::unique_ptr<mesh::Stream> stream) {
    tasks_.spawn("copy for a peer", serve(std::move(stream)));
  });
}

CopyManager::~CopyManager() { parts_.peers.on_stream(mesh::Purpose::copy, {}); }

void CopyManager::start() { tasks_.spawn("copies of before", take_up()); }

Task<void> CopyManager::stop() {
  ending_ = true;
  parts_.peers.on_stream(mesh::Purpose::copy, {});
  tasks_.cancel();
  co_await tasks_.join();
  for (auto& copy : copies_) {  // no new orders from here on
    if (!copy.task) continue;
    copy.task->cancel();
    co_await copy.task->join();
  }
}

void CopyManager::look() {
  leave_to_others();
  begin_next();
}

// If two nodes began the same copy at the same moment, the one with more data continues. Announced values are older
// than this node's own, so never do both of them stop.
void CopyManager::leave_to_others() {
  const auto catalog = parts_.catalog();
  if (!catalog) return;
  std::erase_if(first_seen_, [&](const auto& seen) {
    const auto* own = view_of(seen.first.first);
    return own == nullptr || !own->by_allocation || ended(own->state);
  });
  std::vector<Sha256> theirs;
  for (const auto& copy : copies_) {
    if (!copy.view.by_allocation || ended(copy.view.state)) continue;
    const auto goes_on = [&](const mesh::KnownNode& node) { return goes_on_there(node, copy.view); };
    // All nodes are checked, so that first_seen_ has all of them.
    if (std::ranges::count_if(catalog->nodes(), goes_on) > 0) theirs.push_back(copy.view.content);
  }
  for (const auto& content : theirs) {
    log::info("mesh", "stopped the copy of '{}': another node is further with it", view_of(content)->model);
    remove(content);
  }
}

// An announcement alone isn't enough: no data is removed in favor of a copy without progress.
bool CopyManager::goes_on_there(const mesh::KnownNode& node, const CopyView& own) {
  if (node.reach == mesh::Reach::own || !mesh::is_routable(node.reach) || !node.node_state) return false;
  const auto* there = node.node_state->copy_by_allocation(own.content);
  if (there == nullptr) return false;
  const auto first = first_seen_.try_emplace({own.content, node.id}, there->done).first->second;
  if (there->done <= first) return false;
  return there->done != own.done ? there->done > own.done : node.id < parts_.peers.own();
}

void CopyManager::allow_allocation(bool on) {
  for_allocation_ = on;
  if (on) return;
  std::vector<Sha256> open;
  for (const auto& copy : copies_)
    if (copy.view.by_allocation && !ended(copy.view.state)) open.push_back(copy.view.content);
  for (const auto& content : open) remove(content);
}

Task<void> CopyManager::take_up() {
  // Ends together with this task.
  struct Wanted {
    ~Wanted() { *flag = false; }
    std::shared_ptr<std::atomic<bool>> flag = std::make_shared<std::atomic<bool>>(true);
  };
  const Wanted here;
  auto work = [folder = parts_.storage.folder, wanted = here.flag] {
    auto lists = mesh::PartialModel::left_over(folder, [&] { return wanted->load(); });
    return LeftOver{std::move(lists), read_copy_marks(folder)};
  };
  const auto left = co_await async::run_or_leave(*parts_.storage.writes, parts_.timers, std::move(work));
  for (const auto& list : left.lists) {
    const auto& manifest = list.manifest;
    if (find_copy(manifest.content) != nullptr) continue;
    auto& copy = add(manifest.content, manifest.model, manifest.bytes());
    copy.view.by_allocation = left.by_allocation.contains(manifest.content);
    if (copy.view.by_allocation) taken_[manifest.content] = manifest.bytes();
  }
  if (marked_.empty()) marked_ = left.by_allocation;  // otherwise the file was written since
  keep_marks();
  allow_allocation(for_allocation_);
  begin_next();
}

Task<Result<mesh::OfferedModelPtr>> CopyManager::find(Sha256 content) {
  if (!gives_) co_return fail(mesh::errc::not_offered, "this node offers no copies (mesh_copies is off)");
  auto here = parts_.on_disk(content);
  if (!here) co_return fail(mesh::errc::not_offered, "this node doesn't have the model, or hasn't hashed it yet");
  if (const auto known = lists_.find(content); known != lists_.end() && known->second->paths == here->paths) {
    co_return known->second;
  }
  auto& entry = making_[content];
  if (!entry) {
    entry = std::make_shared<Making>(executor_);
    tasks_.spawn("list of a model", make(std::move(*here), content, entry));
  }
  // The last waiter cancels the list.
  struct Waiting {
    Waiting(CopyManager& owner, const Sha256& of, std::shared_ptr<Making> what)
        : manager(owner), content(of), making(std::move(what)) {
      ++making->waiting;
    }
    ~Waiting() {
      if (--making->waiting > 0 || making->result) return;
      making->unwanted = true;
      const auto at = manager.making_.find(content);
      if (at != manager.making_.end() && at->second == making) manager.making_.erase(at);
    }
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;
    CopyManager& manager;
    const Sha256 content;
    const std::shared_ptr<Making> making;
  };
  const Waiting waiting(*this, content, entry);
  co_await waiting.making->done.wait();
  co_return *waiting.making->result;
}

Task<void> CopyManager::make(DiskModel model, Sha256 content, std::shared_ptr<Making> making) {
  auto work = [model, content, own = parts_.own, making] {
    return make_list(model, content, own, [&] { return !making->unwanted; });
  };
  const auto made = co_await async::run_or_leave(*parts_.storage.lists, parts_.timers, std::move(work));
  if (made.model) {
    if (lists_.size() >= kMaxLists) lists_.clear();
    lists_[content] = made.model;
    making->result = made.model;
  } else {
    if (made.error) log::warning("mesh", "can't offer a copy of '{}': {}", model.name, made.error->message);
    making->result = fail(mesh::errc::not_offered, "the source can't read the files, or they have just changed");
  }
  const auto at = making_.find(content);
  if (at != making_.end() && at->second == making) making_.erase(at);
  making->done.set();
}

Task<void> CopyManager::serve(std::unique_ptr<mesh::Stream> stream) {
  const auto peer = stream->peer().id;
  const auto sent = co_await mesh::serve_copy(std::move(stream), *this, *parts_.storage.reads, parts_.timers);
  if (sent) {
    log::debug("mesh", "{} has copied {} bytes", mesh::short_text(peer), *sent);
  } else if (sent.error().code != mesh::errc::link_closed) {
    log::info("mesh", "a copy for {} ended: {}", mesh::short_text(peer), sent.error().message);
  }
}

Result<CopyView> CopyManager::order(const mesh::MeshModel& model) {
  if (model.is_here()) {
    return fail(errc::copy_not_needed, fmt::format("'{}' is on this node's disk already", model.name), "model");
  }
  if (model.content.pending) {
    return fail(mesh::errc::not_offered, fmt::format("the source is still hashing '{}': try again later", model.name),
                "model");
  }
  const auto& content = model.content.bytes;
  if (sources(content).empty()) {
    return fail(mesh::errc::not_offered,
                fmt::format("no reachable node offers copies of '{}' (its mesh_copies must be on)", model.name),
                "model");
  }
  auto* copy = find_copy(content);
  if (copy == nullptr) {
    const auto open = std::ranges::count_if(copies_, [](const Copy& one) { return !ended(one.view.state); });
    if (open >= static_cast<std::ptrdiff_t>(kMaxKept)) {
      return fail(mesh::errc::too_many, fmt::format("the list of copies is full ({} open)", open), "model");
    }
    copy = &add(content, model.plain_name, model.bytes);
  } else if (ended(copy->view.state)) {
    copy->view.state = CopyState::waiting;
    copy->view.problem.clear();
  }
  copy->view.by_allocation = false;
  taken_.erase(content);
  begin_next();
  keep_marks();
  return find_copy(content)->view;
}

// Whether the finished copy must be known on the disk by now: a scan takes some seconds, and hashing as long as
// reading.
bool CopyManager::is_settled(const Copy& copy) const {
  constexpr std::uint64_t kHashed = 100'000;  // bytes each millisecond, on a slow disk
  const Millis patience = kSettle + Millis(copy.view.total / kHashed);
  return ended(copy.view.state) && parts_.timers.now() - copy.ended >= patience;
}

// All copies for the allocation, finished or not, share half of the disk space that was free before the first.
Result<> CopyManager::check_disk(const mesh::MeshModel& model, std::uint64_t disk_free) {
  std::erase_if(taken_, [&](const auto& entry) {
    const auto* copy = find_copy(entry.first);
    // A failed copy keeps its files, unless it was refused or cancelled.
    if (copy != nullptr && copy->view.state != CopyState::done && !declined_.contains(entry.first)) return false;
    if (copy != nullptr && copy->view.state == CopyState::done && !is_settled(*copy)) return false;
    return !parts_.on_disk(entry.first);
  });
  if (taken_.empty()) first_free_ = disk_free;
  // After a restart copies exist before the first order.
  if (first_free_ == 0) first_free_ = disk_free;
  std::uint64_t sum = 0;
  for (const auto& [content, bytes] : taken_) sum += content == model.content.bytes ? 0 : bytes;
  const auto bound = mesh::disk_for_copies(first_free_);
  const auto available = std::min(mesh::disk_for_copies(disk_free), bound - std::min(bound, sum));
  if (model.bytes <= available) return {};
  return fail(mesh::errc::disk_full,
              fmt::format("a copy needs {} MiB of disk, but copies for the allocation have only {} MiB left",
                          model.bytes >> 20, available >> 20),
              "model");
}

void CopyManager::decline(const Sha256& content, std::error_code cause, std::string why) {
  if (declined_.size() >= kMaxDeclined) declined_.erase(declined_.begin());
  declined_.insert_or_assign(content, Error(cause, std::move(why), "model"));
}

Result<CopyView> CopyManager::order_for_allocation(const mesh::MeshModel& model, std::uint64_t disk_free) {
  const auto now = parts_.timers.now();
  const auto declined = declined_.find(model.content.bytes);
  const auto* known = find_copy(model.content.bytes);
  if (known != nullptr && !ended(known->view.state)) return known->view;
  if (declined != declined_.end()) return std::unexpected(declined->second);
  if (known != nullptr) {
    if (known->view.state == CopyState::failed && now - known->ended < kRest)
      return fail(errc::copy_failed, known->view.problem, "model");
    if (known->view.state == CopyState::done) {
      if (!is_settled(*known) || parts_.on_disk(model.content.bytes)) return known->view;
      decline(model.content.bytes, make_error_code(errc::copy_not_needed),
              fmt::format("the copy of '{}' was removed from this node's disk: `corral mesh pull` copies it again",
                          known->view.model));
      return std::unexpected(declined_.at(model.content.bytes));
    }
  }
  const auto open = std::ranges::count_if(
      copies_, [](const Copy& copy) { return copy.view.by_allocation && !ended(copy.view.state); });
  if (open >= static_cast<std::ptrdiff_t>(kMaxByAllocation))
    return fail(mesh::errc::too_many, fmt::format("{} copies for the allocation are running already", open), "model");
  if (auto room = check_disk(model, disk_free); !room) return std::unexpected(room.error());
  auto ordered = order(model);
  if (!ordered) return ordered;
  auto* copy = find_copy(model.content.bytes);
  copy->view.by_allocation = true;
  taken_[model.content.bytes] = model.bytes;
  keep_marks();
  return copy->view;
}

bool CopyManager::cancel(const Sha256& content) {
  const auto* copy = view_of(content);
  if (copy == nullptr) return false;
  const auto view = *copy;
  remove(content);
  if (!view.by_allocation) return true;
  decline(content, make_error_code(errc::not_admin_here), "cancelled on this node: `corral mesh pull` copies it again");
  if (ended(view.state)) return true;
  auto& kept = add(content, view.model, view.total);
  kept.view.by_allocation = true;
  kept.view.state = CopyState::failed;
  kept.view.problem = declined_.at(content).message;
  kept.ended = parts_.timers.now();
  return true;
}

void CopyManager::remove(const Sha256& content) {
  const auto at = std::ranges::find(copies_, content, [](const Copy& copy) { return copy.view.content; });
  if (at == copies_.end()) return;
  const bool was_done = at->view.state == CopyState::done;
  auto task = std::move(at->task);
  copies_.erase(at);
  if (task) task->cancel();
  // Runs after work that has begun for this copy, and before that of a new order, since all of it has one thread.
  if (!was_done) tasks_.spawn("end of a copy", discard(std::move(task), content));
  begin_next();
  keep_marks();
}

// The marks of incomplete copies survive this run, like their lists.
void CopyManager::keep_marks() {
  if (ending_) return;
  std::set<Sha256> open;
  for (const auto& copy : copies_)
    if (copy.view.by_allocation && !ended(copy.view.state)) open.insert(copy.view.content);
  if (open == marked_) return;
  marked_ = open;
  tasks_.spawn("marks of copies", write_marks(std::move(open)));
}

Task<void> CopyManager::write_marks(std::set<Sha256> open) {
  auto work = [folder = parts_.storage.folder, open = std::move(open)] {
    write_copy_marks(folder, open);
    return true;
  };
  co_await async::run_or_leave(*parts_.storage.writes, parts_.timers, std::move(work));
}

Task<void> CopyManager::discard(std::unique_ptr<async::TaskGroup> ending, Sha256 content) {
  auto work = [folder = parts_.storage.folder, content] {
    mesh::PartialModel::discard(folder, content);
    return true;
  };
  co_await async::run_or_leave(*parts_.storage.writes, parts_.timers, std::move(work));
  if (ending) co_await ending->join();
  parts_.storage.arrived();  // its last step may have finished
}

std::vector<CopyView> CopyManager::list() const {
  std::vector<CopyView> views;
  for (const auto& copy : copies_) views.push_back(copy.view);
  return views;
}

const CopyView* CopyManager::view_of(const Sha256& content) const {
  const auto at = std::ranges::find(copies_, content, [](const Copy& copy) { return copy.view.content; });
  return at == copies_.end() ? nullptr : &at->view;
}

CopyManager::Copy* CopyManager::find_copy(const Sha256& content) {
  const auto at = std::ranges::find(copies_, content, [](const Copy& copy) { return copy.view.content; });
  return at == copies_.end() ? nullptr : &*at;
}

CopyManager::Copy& CopyManager::add(const Sha256& content, std::string model, std::uint64_t bytes) {
  for (auto at = copies_.begin(); copies_.size() >= kMaxKept && at != copies_.end();) {
    const bool idle = ended(at->view.state) && (!at->task || at->task->running() == 0);
    at = idle ? copies_.erase(at) : std::next(at);
  }
  auto& copy = copies_.emplace_back();
  copy.view.content = content;
  copy.view.model = std::move(model);
  copy.view.total = bytes;
  return copy;
}

void CopyManager::begin_next() {
  if (ending_) return;
  auto running = std::ranges::count(copies_, CopyState::copying, [](const Copy& copy) { return copy.view.state; });
  for (auto& copy : copies_) {
    if (running >= static_cast<std::ptrdiff_t>(kAtATime)) return;
    if (copy.view.state != CopyState::waiting || sources(copy.view.content).empty()) continue;
    copy.view.state = CopyState::copying;
    copy.view.problem.clear();
    copy.task = std::make_unique<async::TaskGroup>(executor_);
    copy.task->spawn("copy", run(copy.view.content));
    ++running;
    parts_.on_change();
  }
}

std::vector<mesh::NodeId> CopyManager::sources(const Sha256& content) const {
  std::vector<mesh::NodeId> nodes;
  const auto catalog = parts_.catalog();
  if (!catalog) return nodes;
  for (const auto& model : catalog->models()) {
    if (model.content.pending || model.content.bytes != content) continue;
    for (const auto& copy : model.copies) {
      if (copy.node->reach != mesh::Reach::own && mesh::is_routable(copy.node->reach) && copy.model->may_copy)
        nodes.push_back(copy.node->id);
    }
  }
  return nodes;
}

// Checked before a copy begins, and not after hours of copying: files are accepted only if they can be inspected.
Task<Result<std::vector<std::filesystem::path>>> CopyManager::fetch(Sha256 content) {
  if (looks_ != Looks::possible) {
    auto examining = parts_.storage.inspector->examine();
    const auto sandbox = co_await std::move(examining);
    looks_ = sandbox ? Looks::possible : Looks::impossible;
    if (!sandbox) co_return fail(errc::not_inspected, words_of_no_inspector(sandbox.error().message));
  }
  mesh::CopyOrder order{.content = content,
                        .folder = parts_.storage.folder,
                        .sources = [this, content] { return sources(content); },
                        .open = [this](mesh::NodeId node) { return parts_.peers.open(node, mesh::Purpose::copy); },
                        .inspect = [this](auto paths) { return parts_.storage.inspector->inspect(std::move(paths)); },
                        .on_progress =
                            [this, content](const mesh::CopyProgress& now) {
                              auto* copy = find_copy(content);
                              if (copy == nullptr) return;
                              copy->view.done = now.done;
                              copy->view.total = now.total;
                              copy->view.bytes_per_second = now.bytes_per_second;
                              copy->view.from = now.from;
                              parts_.on_change();
                            }};
  auto fetching = mesh::fetch_copy(std::move(order), *parts_.storage.writes, parts_.timers);
  co_return co_await std::move(fetching);
}

Task<void> CopyManager::run(Sha256 content) {
  auto fetching = fetch(content);
  const auto files = co_await std::move(fetching);
  auto* copy = find_copy(content);
  if (copy == nullptr) co_return;
  const bool unreachable = !files && files.error().code == mesh::errc::unreachable;
  copy->view.state = files ? CopyState::done : unreachable ? CopyState::waiting : CopyState::failed;
  copy->view.bytes_per_second = 0;
  copy->ended = parts_.timers.now();
  if (files) {
    declined_.erase(content);
    log::info("mesh", "'{}' was copied to {}", copy->view.model, files->front().native());
    parts_.storage.arrived();
  } else {
    copy->view.problem = files.error().message;
    // The files are complete, so nothing can be resumed.
    if (files.error().code == errc::files_refused) {
      tasks_.spawn("refused files", discard(nullptr, content));
      decline(content, files.error().code, copy->view.problem);
    }
    log::warning("mesh", "the copy of '{}' ended: {}", copy->view.model, copy->view.problem);
  }
  parts_.on_change();
  begin_next();
  keep_marks();
}

}  // namespace corral::fleet
